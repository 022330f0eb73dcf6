/**
 * Rows of an output: a table, cards on a narrow page. Roles have their names, as those of other tables. Pictures,
 * which stand above as they are, are small in their row.
 */
import { type ReactNode, useState } from "react";
import { pretty } from "../text/exact.ts";
import { number } from "../text/format.ts";
import { previewOf } from "../values/jobs/job-error.ts";
import { mediaOf } from "../values/media.ts";
import { T } from "../text/text.ts";
import type { Rows } from "../values/views.ts";
import { mediaText } from "./values/media-view.tsx";

/** Rows that are shown before one asks for more. */
const PORTION = 100;

export function ObjectTable({ table: { path, columns, rows }, label }: { table: Rows; label: string }) {
	const [most, setMost] = useState(PORTION);
	return (
		// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
		<div className="object-table rows" tabIndex={0} role="region" aria-label={path || label}>
			<table role="table">
				<thead role="rowgroup">
					<tr role="row">
						{columns.map((name) => (
							<th key={name} role="columnheader" scope="col">
								{name}
							</th>
						))}
					</tr>
				</thead>
				<tbody role="rowgroup">
					{rows.slice(0, most).map((row, index) => (
						<tr key={index} role="row">
							{columns.map((name) => (
								<Cell key={name} name={name} value={row[name]} />
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

/** Characters of a cell that has a line of its own on a narrow page. */
const LONG_CELL = 24;

function Cell({ name, value }: { name: string; value: unknown }): ReactNode {
	const media = typeof value === "string" ? mediaOf(value) : undefined;
	const text =
		value === undefined ? "" : media ? mediaText(media) : previewOf(typeof value === "string" ? value : pretty(value));
	return (
		<td role="cell" data-label={name} className={text.length > LONG_CELL ? "long" : undefined}>
			{media?.kind === "image" ? <img className="thumbnail" src={media.url} alt={text} loading="lazy" /> : text}
		</td>
	);
}
