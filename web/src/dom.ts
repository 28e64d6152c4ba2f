// SPDX-License-Identifier: Apache-2.0
// Elements out of data. Text becomes text nodes and nothing else: a kernel named <script> is a name.

type Child = Node | string | number | null | undefined | false | Child[];
type Props = {
	class?: string | null;
	on?: { [K in keyof HTMLElementEventMap]?: (e: HTMLElementEventMap[K]) => void };
	style?: Record<string, string>;
	data?: Record<string, string>;
	[attr: string]: unknown;
};

export function h<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	props?: Props | null,
	...children: Child[]
): HTMLElementTagNameMap[K] {
	const el = document.createElement(tag);
	for (const [k, v] of Object.entries(props ?? {})) {
		if (v === undefined || v === null || v === false) continue;
		if (k === 'class') el.className = String(v);
		else if (k === 'on')
			for (const [type, fn] of Object.entries(v as object))
				el.addEventListener(type, fn as EventListener);
		else if (k === 'style')
			for (const [p, s] of Object.entries(v as Record<string, string>)) el.style.setProperty(p, s);
		else if (k === 'data') Object.assign(el.dataset, v);
		else el.setAttribute(k, v === true ? '' : String(v));
	}
	add(el, ...children);
	return el;
}

export function add(el: Element, ...children: Child[]): void {
	for (const c of children)
		if (Array.isArray(c)) add(el, ...c);
		else if (c !== null && c !== undefined && c !== false)
			el.append(typeof c === 'object' ? c : document.createTextNode(String(c)));
}

export function fill(el: Element, ...children: Child[]): void {
	el.replaceChildren();
	add(el, ...children);
}

/** Names of kernels, files and programs: never translated, always left to right. */
export function name(text: string, cls = 'name'): HTMLElement {
	return h('bdi', { class: cls, translate: 'no', dir: 'ltr', title: text }, text);
}

export function button(label: string, does: () => void, props: Props = {}): HTMLButtonElement {
	return h('button', { type: 'button', ...props, on: { click: does } }, label);
}

/** A canvas as large as its box, in device pixels; draws again when the box changes. */
export function canvas(draw: (g: CanvasRenderingContext2D, w: number, h: number) => void, props: Props = {}) {
	const el = h('canvas', props);
	const g = el.getContext('2d', { alpha: true })!;
	let asked = false;
	const paint = () => {
		asked = false;
		const w = el.clientWidth, hh = el.clientHeight, dpr = window.devicePixelRatio || 1;
		if (!w || !hh) return;
		const pw = Math.round(w * dpr), ph = Math.round(hh * dpr);
		if (el.width !== pw || el.height !== ph) {
			el.width = pw;
			el.height = ph;
		}
		g.setTransform(dpr, 0, 0, dpr, 0, 0);
		g.clearRect(0, 0, w, hh);
		draw(g, w, hh);
	};
	const redraw = () => {
		if (!asked) {
			asked = true;
			requestAnimationFrame(paint);
		}
	};
	new ResizeObserver(redraw).observe(el);
	return { el, redraw };
}
