// SPDX-License-Identifier: Apache-2.0
// One script, one sheet, one page, with names that do not change: aon serve gives them ETags, and
// aon report --html puts the three into one file.
import { defineConfig } from 'vite';

export default defineConfig({
	base: './',
	build: {
		target: 'es2021',
		emptyOutDir: true,
		modulePreload: false,
		cssCodeSplit: false, // a sheet of its own: the page's CSP allows no inline styles
		assetsInlineLimit: 0,
		reportCompressedSize: false,
		rollupOptions: {
			output: {
				// A classic script in one scope: the page works from file://, where modules do not.
				format: 'iife',
				entryFileNames: 'app.js',
				assetFileNames: 'app[extname]',
				inlineDynamicImports: true,
			},
		},
	},
	plugins: [
		{
			name: 'classic-script',
			transformIndexHtml: {
				order: 'post',
				handler: (html) => html.replace('type="module" crossorigin', 'defer').replace(' crossorigin', ''),
			},
		},
	],
	server: {
		host: '127.0.0.1',
		proxy: {
			'/api': {
				target: process.env.AON_URL ?? 'http://127.0.0.1:9401',
				changeOrigin: true, // aon serve answers to its own name only
				headers: { Authorization: `Bearer ${process.env.AON_TOKEN ?? ''}` },
			},
		},
	},
});
