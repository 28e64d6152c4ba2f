// SPDX-License-Identifier: Apache-2.0
// Dark text on bright classes, light on dark ones.
import { colour } from './classes';

export function ink(cls: string): string {
	const m = /^#(..)(..)(..)/.exec(colour(cls));
	const l = m ? [1, 2, 3].map((i) => parseInt(m[i]!, 16) / 255).reduce((s, v, i) => s + v ** 2.2 * [0.2126, 0.7152, 0.0722][i]!, 0) : 0;
	return l > 0.2 ? '#101214' : '#ffffff';
}
