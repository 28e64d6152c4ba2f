// SPDX-License-Identifier: Apache-2.0
// Captures from the page: the request, its progress, its result. aond decides who may capture.
import { get, post, runPath, source, type Reply, type Run } from '../api';
import { button, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { say, toast } from '../frame';
import { t } from '../i18n';
import { go } from '../state';

interface Order {
	number: number;
	state: 'running' | 'done' | 'failed' | 'cancelled';
	steps?: number;
	ms?: number;
	before_ms: number;
	trigger: string | null;
	processes: number;
	took_ms: number;
	bytes: number;
	from_ns: number | null;
	to_ns: number | null;
	why: string | null;
}
interface Orders extends Reply {
	allowed: boolean;
	why: string | null;
	orders: Order[];
}
const AGAIN = 1000; // ms, while one is under way

export class CaptureForm {
	readonly el = h('div', { class: 'block capture', hidden: true });
	private readonly list = h('div', { 'aria-live': 'polite' });
	private timer = 0;
	private known = new Map<number, string>();

	constructor(private run: Run) {
		if (source.saved || run.state !== 'live') return;
		void this.look(true);
	}

	close(): void {
		clearTimeout(this.timer);
	}

	private async look(first = false): Promise<void> {
		const o = await get<Orders>(runPath(this.run.id, 'capture'), {}, { fresh: true }).catch(() => null);
		if (!o) return;
		if (first) {
			this.el.hidden = false;
			fill(this.el, h('h2', null, t('capture.title')), o.allowed ? this.form() : h('p', { class: 'note' }, o.why), this.list);
		}
		this.show(o);
	}

	private show(o: Orders): void {
		for (const x of o.orders) {
			if (this.known.get(x.number) === 'running' && x.state !== 'running') say(t('capture.said', { n: x.number, state: t(`capture.${x.state}`) }));
			this.known.set(x.number, x.state);
		}
		fill(this.list, o.orders.length ? h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': t('capture.orders') }, h('table', { 'aria-label': t('capture.orders') }, h('thead', null, h('tr', null, h('th', null, t('capture.number')), h('th', { class: 'l' }, t('capture.what')), h('th', { class: 'l' }, t('proc.state')), h('th', { class: 'l' }, t('capture.result')))),
			h('tbody', null, o.orders.map((x) => this.row(x))))) : null);
		clearTimeout(this.timer);
		if (o.orders.some((x) => x.state === 'running')) this.timer = window.setTimeout(() => void this.look(), AGAIN);
	}

	private row(x: Order): HTMLElement {
		const what = [x.steps ? t('capture.nsteps', { n: x.steps }) : fmt.time((x.ms ?? 0) * 1e6), x.before_ms ? t('capture.nbefore', { long: fmt.time(x.before_ms * 1e6) }) : '', t('capture.of', { n: x.processes })].filter(Boolean).join(', ');
		return h('tr', null, h('td', null, String(x.number)), h('td', { class: 'l words' }, what, x.trigger ? [' ', t('capture.when'), ' ', name(x.trigger)] : null),
			h('td', { class: 'l words' }, x.state === 'running' && x.trigger ? t('capture.waits', { long: fmt.time(x.took_ms * 1e6) }) : x.state === 'running' ? t('capture.goes', { long: fmt.time(x.took_ms * 1e6) }) : t(`capture.${x.state}`)),
			h('td', { class: 'l words' }, x.state === 'running' ? button(t('do.cancel'), () => void this.order({ cancel: x.number })) : null,
				x.state === 'done' ? h('span', { class: 'row' }, h('a', { href: `api/v1/${runPath(this.run.id, `captured/${x.number}`)}`, download: '' }, t('capture.file', { size: fmt.bytes(x.bytes) })),
					x.from_ns !== null && x.to_ns !== null ? button(t('do.seetimeline'), () => go({ view: 'timeline', w: [x.from_ns!, x.to_ns!], sel: null })) : null) : null,
				x.why ? h('span', { class: x.state === 'failed' ? 'warn' : 'dim' }, name(x.why, 'said')) : null));
	}

	private form(): HTMLElement {
		const much = h('input', { type: 'number', min: 1, max: 100000, value: this.run.steps ? 5 : 500, id: 'cap-much', required: true });
		const unit = h('select', { 'aria-label': t('capture.unit') }, h('option', { value: 'steps', selected: !!this.run.steps }, t('capture.steps')), h('option', { value: 'ms', selected: !this.run.steps }, t('capture.ms')));
		const before = h('input', { type: 'number', min: 0, max: 600, value: 0, id: 'cap-before' });
		const ranks = h('input', { type: 'text', pattern: '[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*', placeholder: t('capture.all'), id: 'cap-ranks', size: 8 });
		const trigger = h('input', { type: 'text', maxlength: 199, placeholder: 'step_ms > 1.2 * p50', id: 'cap-trigger', size: 24 });
		const field = (id: string, text: string, ...el: Node[]) => h('div', { class: 'field' }, h('label', { for: id }, text), h('span', null, el));
		return h('form', { class: 'row capture-form', on: { submit: (e) => {
			e.preventDefault();
			void this.order({ [unit.value]: Number(much.value), before: Number(before.value) ? Math.round(Number(before.value) * 1000) : null, ranks: ranks.value.trim() || null, trigger: trigger.value.trim() || null });
		} } }, field('cap-much', t('capture.much'), much, unit), field('cap-before', t('capture.before'), before), this.run.ranks > 1 ? field('cap-ranks', t('capture.ranks'), ranks) : null,
		field('cap-trigger', t('capture.trigger'), trigger), h('button', { type: 'submit' }, t('capture.do')));
	}

	private async order(params: Record<string, string | number | null>): Promise<void> {
		try {
			this.show(await post<Orders>(runPath(this.run.id, 'capture'), params));
		} catch (e) {
			toast(e instanceof Error ? e.message : String(e));
		}
	}
}
