/** An input or an output in the way that shows it best, and in all others that fit. */
import { type ReactNode, Suspense, useMemo, useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { lazyPage } from "../lazy-page.ts";
import { mediaIn } from "../../values/media.ts";
import { T } from "../../text/text.ts";
import { MOST_MARKDOWN, rowsOf, textOf, type Turn, turnsOf, type ViewName, viewsOf } from "../../values/views.ts";
import { Copy } from "../copy.tsx";
import { JsonView } from "./json-view.tsx";
import { MediaView } from "./media-view.tsx";
import { ObjectTable } from "../object-table.tsx";

const MarkdownView = lazyPage(() => import("./markdown-view.tsx"));

export function ValueView({
	value,
	label,
	textFirst = false,
}: {
	value: unknown;
	/** Says what it is. */
	label: string;
	/** Begins with the text of the value, if it has one, however short. */
	textFirst?: boolean;
}): ReactNode {
	const views = useMemo(() => viewsOf(value), [value]);
	const [chosen, setChosen] = useState<ViewName | undefined>(undefined);
	const first = (textFirst ? views.find((each) => each === "markdown" || each === "text") : undefined) ?? views[0]!;
	const view = chosen !== undefined && views.includes(chosen) ? chosen : first;
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
