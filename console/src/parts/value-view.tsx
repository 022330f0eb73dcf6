/** An input or an output in the way that shows it best, and in all others that fit. */
import { type ReactNode, Suspense, useMemo, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { number } from "../format.ts";
import { pretty } from "../exact.ts";
import { previewOf } from "../job-error.ts";
import { lazyPage } from "../lazy-page.ts";
import { mediaIn } from "../../../src/lib/media.ts";
import { T } from "../text.ts";
import { MOST_MARKDOWN, type Rows, rowsOf, textOf, type Turn, turnsOf, type ViewName, viewsOf } from "../views.ts";
import { Copy } from "./copy.tsx";
import { JsonView } from "./json-view.tsx";
import { MediaView } from "./media-view.tsx";

const MarkdownView = lazyPage(() => import("./markdown-view.tsx"));

/** Rows that are shown before one asks for more. */
const PORTION = 100;

/** `label` says what it is. */
export function ValueView({ value, label }: { value: unknown; label: string }): ReactNode {
	const views = useMemo(() => viewsOf(value), [value]);
	const [chosen, setChosen] = useState<ViewName | undefined>(undefined);
	const view = chosen !== undefined && views.includes(chosen) ? chosen : views[0]!;
	const media = useMemo(() => mediaIn(value), [value]);
	// A text that was put together from its pieces.
	const isJoined = Array.isArray(value) && views.includes("text");
	return (
		<div className="stack">
			{views.length > 1 ? (
				<ToggleButtonGroup
					className="segments"
					aria-label={T.views.of(label)}
					selectionMode="single"
					disallowEmptySelection
					selectedKeys={[view]}
					onSelectionChange={([key]) => setChosen(key as ViewName)}
				>
					{views.map((each) => (
						<ToggleButton key={each} id={each} className="segment">
							{each === "json" && isJoined ? T.views.raw : T.views[each]}
						</ToggleButton>
					))}
				</ToggleButtonGroup>
			) : null}
			{view !== "json" && media.length > 0 ? <MediaView items={media} /> : null}
			<Shown view={view} value={value} label={label} />
		</div>
	);
}

function Shown({ view, value, label }: { view: ViewName; value: unknown; label: string }): ReactNode {
	const text = textOf(value) ?? "";
	const [turns, rows] = [turnsOf(value), rowsOf(value)];
	if (view === "chat" && turns) return <Chat turns={turns} label={label} />;
	if (view === "table" && rows) return <ObjectTable table={rows} label={label} />;
	if (view === "markdown")
		return (
			<WithCopy text={text}>
				<Formatted text={text} label={label} />
			</WithCopy>
		);
	if (view === "text")
		return (
			<WithCopy text={text}>
				<TextBlock text={text} label={label} />
			</WithCopy>
		);
	return <JsonView value={value} label={label} />;
}

/** A text as Markdown: as it is while the code for it is loaded, or where it is too long. */
function Formatted({ text, label }: { text: string; label: string }): ReactNode {
	const plain = <TextBlock text={text} label={label} />;
	return text.length > MOST_MARKDOWN ? (
		plain
	) : (
		<Suspense fallback={plain}>
			<MarkdownView text={text} plain={plain} />
		</Suspense>
	);
}

function TextBlock({ text, label }: { text: string; label: string }): ReactNode {
	return (
		// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
		<pre className="stream-text" tabIndex={0} aria-label={label}>
			{text}
		</pre>
	);
}

function WithCopy({ text, children }: { text: string; children: ReactNode }): ReactNode {
	return (
		<div className="with-copy">
			{children}
			<Copy text={text} name={T.copy} />
		</div>
	);
}

export function Chat({ turns, label }: { turns: readonly Turn[]; label: string }): ReactNode {
	return (
		<ol className="chat" aria-label={label}>
			{turns.map(({ role, text }, index) => (
				<li key={index} className={role === "user" ? "turn own" : "turn"}>
					<b className="muted">{role}</b>
					<Formatted text={text} label={role} />
				</li>
			))}
		</ol>
	);
}

function ObjectTable({ table: { path, columns, rows }, label }: { table: Rows; label: string }) {
	const [most, setMost] = useState(PORTION);
	return (
		// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
		<div className="object-table" tabIndex={0} role="region" aria-label={path || label}>
			<table>
				<thead>
					<tr>
						{columns.map((name) => (
							<th key={name} scope="col">
								{name}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.slice(0, most).map((row, index) => (
						<tr key={index}>
							{columns.map((name) => (
								<td key={name}>{cellOf(row[name])}</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
			{rows.length > most ? (
				<button type="button" className="json-more" onClick={() => setMost(most + PORTION * 5)}>
					{T.json.more(number(rows.length - most))}
				</button>
			) : null}
		</div>
	);
}

function cellOf(value: unknown): string {
	if (value === undefined) return "";
	return previewOf(typeof value === "string" ? value : pretty(value));
}
