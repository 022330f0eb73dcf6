/**
 * Tables, with their roles by name, because cards lose those that come of themselves: rows that
 * lead somewhere are walked with the arrow keys, j and k; on a narrow page each row becomes a card.
 */
import type { KeyboardEvent, MouseEvent, ReactNode } from "react";
import { go } from "../client/router.ts";
import { T } from "../text/text.ts";
import { Button } from "./button.tsx";

export interface Column<Row> {
	name: string;
	/** The label is for assistive technology only. */
	silent?: boolean;
	/** Numbers stand at the right. */
	end?: boolean;
	/** The one that takes the room that is left, and heads the card. */
	main?: boolean;
	/** Its name for styles. */
	area?: string;
	/** In place of the name in the head. */
	head?: ReactNode;
	/** Null where there is no value. */
	cell: (row: Row) => ReactNode;
}

interface TableProps<Row> {
	label: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	id: (row: Row) => string;
	/** Where a row leads, or what it opens, that is clicked next to its links. */
	leads?: (row: Row) => string | (() => void);
	isSelected?: (row: Row) => boolean;
	/** A row has two lines on a narrow page, in place of a card. */
	look?: "two-lines";
	/** Cells have a second line: all rows have room for it. */
	tall?: boolean;
}

export function Table<Row>(props: TableProps<Row>): ReactNode {
	const { label, columns, rows, id, leads, isSelected, look, tall } = props;
	return (
		<table className={["table", look, tall && "tall"].filter(Boolean).join(" ")} role="table" onKeyDown={walk}>
			<caption className="hidden">{label}</caption>
			<thead role="rowgroup">
				<tr role="row">
					{columns.map(({ name, silent, end, main, area, head }) => (
						<th key={name} role="columnheader" scope="col" className={cellClass({ end, main, area })}>
							{head ?? (silent ? <span className="hidden">{name}</span> : name)}
						</th>
					))}
				</tr>
			</thead>
			<tbody role="rowgroup">
				{rows.map((row) => (
					<tr
						key={id(row)}
						role="row"
						className={leads ? "leads" : undefined}
						aria-selected={isSelected?.(row)}
						onClick={leads && ((event) => follow(event, leads(row)))}
					>
						{columns.map((column) => (
							<Cell key={column.name} column={column} row={row} plain={look !== undefined} />
						))}
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** Where there is no value: a dash below its head, nothing in a card. */
function Cell<Row>({
	column: { name, silent, end, main, area, cell },
	row,
	plain,
}: {
	column: Column<Row>;
	row: Row;
	/** Without its name in a card. */
	plain: boolean;
}): ReactNode {
	const shown = cell(row);
	const none = shown === null && !silent;
	return (
		<td
			role="cell"
			className={cellClass({ end, main, area, none })}
			data-label={silent || main || plain ? undefined : name}
		>
			{none ? "–" : shown}
		</td>
	);
}

/** The way to older rows, and back to the newest. */
export function Pages({
	cursor,
	next,
	show,
	older = T.requests.older,
}: {
	/** Of the page that is shown. */
	cursor: string | undefined;
	next: string | null | undefined;
	show: (cursor: string | undefined) => void;
	older?: string;
}): ReactNode {
	return (
		<div className="actions end">
			{cursor === undefined ? null : (
				<Button icon="left" onPress={() => show(undefined)}>
					{T.requests.newest}
				</Button>
			)}
			{next ? (
				<Button icon="right" onPress={() => show(next)}>
					{older}
				</Button>
			) : null}
		</div>
	);
}

function cellClass({
	end,
	main,
	area,
	none,
}: {
	end?: boolean | undefined;
	main?: boolean | undefined;
	area?: string | undefined;
	none?: boolean;
}): string {
	return [end && "end", main && "main", area && `at-${area}`, none && "none"].filter(Boolean).join(" ");
}

/** A click on a row, unless it is on a control or ends the selection of a text. */
function follow(event: MouseEvent<HTMLElement>, address: string | (() => void)): void {
	const control = (event.target as Element).closest("a, button, input, label");
	if (control || getSelection()?.isCollapsed === false) return;
	if (typeof address === "function") address();
	else if (event.ctrlKey || event.metaKey) open(address, "_blank", "noopener");
	else go(address);
}

/** Moves the focus to the same link or button of the next or the last row. */
function walk(event: KeyboardEvent<HTMLTableElement>): void {
	const step =
		event.key === "ArrowDown" || event.key === "j" ? 1 : event.key === "ArrowUp" || event.key === "k" ? -1 : 0;
	if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
	const row = event.target.closest("tr");
	const focusable = (from: Element | null | undefined): HTMLElement[] =>
		from ? [...from.querySelectorAll<HTMLElement>("a[href], button, input")] : [];
	const index = focusable(row).indexOf(event.target);
	const rows = [...event.currentTarget.tBodies[0]!.rows];
	const next = rows[row ? rows.indexOf(row) + step : 0];
	const target = focusable(next)[Math.max(0, index)] ?? focusable(next)[0];
	if (!target) return;
	event.preventDefault();
	target.focus();
}
