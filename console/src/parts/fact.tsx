/** Facts by name, and a card of some. */
import type { ReactNode } from "react";

export function Fact({
	name,
	tone,
	more,
	children,
}: {
	name: string;
	/** Class of a value that a problem is about. */
	tone?: string | undefined;
	more?: string | undefined;
	children: ReactNode;
}): ReactNode {
	return (
		<div>
			<dt>{name}</dt>
			<dd>
				{tone === undefined ? children : <span className={tone}>{children}</span>}{" "}
				{more === undefined ? null : <span className="muted">{more}</span>}
			</dd>
		</div>
	);
}

export function FactCard({ title, children }: { title: string; children: ReactNode }): ReactNode {
	return (
		<section className="card stack" aria-label={title}>
			<h2>{title}</h2>
			<dl className="facts">{children}</dl>
		</section>
	);
}
