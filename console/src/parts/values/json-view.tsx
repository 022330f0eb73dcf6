/**
 * JSON to look at: folded, searched, copied, with its pictures and sounds. Everything is text:
 * nothing is ever taken for HTML.
 */
import { memo, type ReactNode, useMemo, useState } from "react";
import { exactNumber, kindOf, pretty } from "../../text/exact.ts";
import { number } from "../../text/format.ts";
import { mediaIn, mediaOf } from "../../values/media.ts";
import { T } from "../../text/text.ts";
import { Copy } from "../copy.tsx";
import { TextField } from "../field.tsx";
import { MediaView } from "./media-view.tsx";
import { LongText } from "./long-text.tsx";
import { LinkOrText, Marked } from "../outside-link.tsx";

/** Members that are shown before one asks for more. */
const PORTION = 100;
/** Characters of a text that are shown before one asks for the rest. */
const SHOWN_CHARS = 400;
/** Of one that is a picture or a sound, and stands above as that. */
const SHOWN_MEDIA_CHARS = 40;
/** Open at first: so deep, while the value has so few members. */
const OPEN_DEPTH = 2;
const OPEN_MEMBERS = 30;

/** `label` says what it is, for copying and for the search field. */
export function JsonView({ value, label }: { value: unknown; label: string }): ReactNode {
	const [wanted, setWanted] = useState("");
	const media = useMemo(() => mediaIn(value), [value]);
	const needle = wanted.trim().toLowerCase();
	const hits = useMemo(() => (needle === "" ? undefined : hitsIn(value, needle)), [value, needle]);
	const simple = kindOf(value) !== "object" && kindOf(value) !== "array";
	return (
		<div className="json">
			{media.length > 0 ? <MediaView items={media} /> : null}
			<div className="json-bar">
				{simple ? (
					<span />
				) : (
					<TextField
						bare
						type="search"
						label={T.json.search(label)}
						placeholder={T.json.search(label)}
						value={wanted}
						onChange={setWanted}
					/>
				)}
				{hits ? (
					<span className="muted" role="status">
						{T.json.hits(number(hits.size > 0 ? hits.count : 0))}
					</span>
				) : null}
				<Copy text={() => pretty(value)} name={T.copy} />
			</div>
			<div className="json-tree">
				<Node name={undefined} value={value} depth={0} path="" needle={needle} hits={hits} />
			</div>
		</div>
	);
}

interface Hits {
	/** Paths that lead to a hit, and the hits. */
	paths: ReadonlySet<string>;
	size: number;
	count: number;
}

/** Every key and value that holds the text. */
function hitsIn(value: unknown, needle: string): Hits {
	const paths = new Set<string>();
	let count = 0;
	const walk = (each: unknown, path: string): boolean => {
		let hit = false;
		const kind = kindOf(each);
		if (kind === "object" || kind === "array") {
			for (const [name, member] of Object.entries(each as object)) {
				const own = kind === "object" && name.toLowerCase().includes(needle);
				if (own) count++;
				const below = walk(member, `${path}/${name}`);
				hit ||= own || below;
			}
		} else if (textOf(each).toLowerCase().includes(needle)) {
			count++;
			hit = true;
		}
		if (hit) paths.add(path);
		return hit;
	};
	walk(value, "");
	return { paths, size: paths.size, count };
}

function textOf(value: unknown): string {
	return exactNumber(value) ?? (typeof value === "string" ? value : String(value));
}

interface NodeProps {
	name: string | undefined;
	value: unknown;
	depth: number;
	path: string;
	needle: string;
	hits: Hits | undefined;
}

const Node = memo(function Node({ name, value, depth, path, needle, hits }: NodeProps): ReactNode {
	const kind = kindOf(value);
	const entries = kind === "object" || kind === "array" ? Object.entries(value as object) : undefined;
	const [chosen, setChosen] = useState<boolean | undefined>(undefined);
	const [most, setMost] = useState(PORTION);
	const key =
		name === undefined ? null : (
			<span className="json-key">
				<Marked text={name} needle={needle} />:{" "}
			</span>
		);
	if (!entries || entries.length === 0) {
		return (
			<div className="json-row">
				{key}
				{entries ? (
					<span className="json-punct">{kind === "array" ? "[]" : "{}"}</span>
				) : (
					<Leaf value={value} needle={needle} />
				)}
			</div>
		);
	}
	const led = hits?.paths.has(path) ?? false;
	const open = chosen ?? (led || (depth < OPEN_DEPTH && entries.length <= OPEN_MEMBERS) || depth === 0);
	const shown =
		hits && led
			? entries.filter(([each]) => hits.paths.has(`${path}/${each}`) || each.toLowerCase().includes(needle))
			: entries;
	return (
		<div className="json-node">
			<button type="button" className="json-fold" aria-expanded={open} onClick={() => setChosen(!open)}>
				{key}
				<span className="json-punct">
					{kind === "array" ? `[${T.json.items(entries.length)}]` : `{${T.json.members(entries.length)}}`}
				</span>
			</button>
			{open ? (
				<div className="json-children">
					{shown.slice(0, most).map(([each, member]) => (
						<Node
							key={each}
							name={each}
							value={member}
							depth={depth + 1}
							path={`${path}/${each}`}
							needle={needle}
							hits={hits}
						/>
					))}
					{shown.length > most ? (
						<button type="button" className="json-more" onClick={() => setMost(most + PORTION * 5)}>
							{T.json.more(number(shown.length - most))}
						</button>
					) : null}
				</div>
			) : null}
		</div>
	);
});

function Leaf({ value, needle }: { value: unknown; needle: string }): ReactNode {
	const kind = kindOf(value);
	const text = textOf(value);
	if (kind !== "string")
		return (
			<span className={`json-${kind}`}>
				<Marked text={text} needle={needle} />
			</span>
		);
	return (
		<span className="json-string">
			<LongText text={text} most={mediaOf(text) ? SHOWN_MEDIA_CHARS : SHOWN_CHARS}>
				{(shown, whole) => (
					<>
						"<LinkOrText text={shown} whole={whole} needle={needle} />"
					</>
				)}
			</LongText>
		</span>
	);
}
