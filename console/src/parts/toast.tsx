/** Short news at the edge of the page: what was done, or the service's refusal with its code. */
import { type ReactNode, useSyncExternalStore } from "react";
import { after } from "../client/clock.ts";
import { T } from "../text/text.ts";
import { IconButton } from "./button.tsx";

interface News {
	text: string;
	code?: string;
	bad?: boolean;
}

/** Ms that good news stays; refusals stay until they are closed. */
const STAY_MS = 5000;

let news: readonly (News & { id: number })[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: typeof news): void {
	news = next;
	for (const notify of listeners) notify();
}

/** Shows it. */
export function toast(item: News): void {
	const id = ++last;
	set([...news.slice(-2), { ...item, id }]);
	if (!item.bad) after(STAY_MS, () => drop(id));
}

function drop(id: number): void {
	set(news.filter((each) => each.id !== id));
}

function subscribe(notify: () => void): () => void {
	listeners.add(notify);
	return () => listeners.delete(notify);
}

export function Toasts(): ReactNode {
	const shown = useSyncExternalStore(subscribe, () => news);
	return (
		<section className="toasts" aria-live="polite" aria-label={T.news}>
			{shown.map(({ id, text, code, bad }) => (
				<div key={id} className={bad ? "toast bad" : "toast"}>
					<p>
						{text} {code === undefined ? null : <code>{code}</code>}
					</p>
					<IconButton name={T.close} icon="close" onPress={() => drop(id)} />
				</div>
			))}
		</section>
	);
}
