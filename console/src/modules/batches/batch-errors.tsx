/** Why a batch failed, or some of its requests: lines of the input file, and codes in the error file. */
import type { ReactNode } from "react";
import { useLoad } from "../../client/load.ts";
import type { BatchObject } from "../../client/shapes.ts";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { number } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { startOf } from "../files/file-calls.ts";
import { type ErrorGroup, errorGroups } from "./batch-lines.ts";

/** Of an error file, bytes. */
const READ = 262_144;
/** Errors that the service keeps of a batch. */
const MOST_ERRORS = 100;

const { page } = T.batches;

type InputError = NonNullable<BatchObject["errors"]>["data"][number];

const ERROR_COLUMNS: readonly Column<InputError & { place: number }>[] = [
	{ name: page.line, end: true, cell: ({ line }) => (line === null ? null : number(line)) },
	{ name: page.code, cell: ({ code }) => <code>{code}</code> },
	{ name: page.message, main: true, cell: ({ message }) => <span className="break">{message}</span> },
];

/** What is wrong with the input file or its lines. */
export function InputErrors({ batch, errors }: { batch: BatchObject; errors: readonly InputError[] }): ReactNode {
	const notes = [
		...(errors.length < MOST_ERRORS ? [] : [page.firstErrors(number(MOST_ERRORS))]),
		...(batch.in_progress_at === null ? [page.noneRan] : []),
	];
	return (
		<section className="card flush">
			<header className="section-head padded">
				<h2>{page.errors}</h2>
				<span className="muted">{notes.join(" ")}</span>
			</header>
			<Table
				label={page.errors}
				columns={ERROR_COLUMNS}
				// One line may have several.
				rows={errors.map((error, place) => ({ ...error, place }))}
				id={({ place }) => String(place)}
			/>
		</section>
	);
}

const GROUP_COLUMNS: readonly Column<ErrorGroup>[] = [
	{ name: page.code, cell: ({ code }) => <code>{code}</code> },
	{ name: page.count, end: true, cell: ({ count }) => number(count) },
	{
		name: page.example,
		main: true,
		cell: ({ message }) => (message === undefined ? null : <span className="break">{message}</span>),
	},
];

/** The requests of the error file by their code, as far as its begin says. */
export function FailedRequests({ endpoint, file }: { endpoint: string; file: string }): ReactNode {
	const { data, failure, reload } = useLoad(`failed requests ${file}`, async (signal) => {
		const start = await startOf(endpoint, file, READ, signal);
		return { ...errorGroups(start), isWhole: start.isWhole };
	});
	return (
		<section className="card flush">
			<header className="section-head padded">
				<h2>{page.byCode}</h2>
				{data && !data.isWhole ? <span className="muted">{page.firstOf(number(data.read))}</span> : null}
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? (
				<Table label={page.byCode} columns={GROUP_COLUMNS} rows={data.groups} id={({ code }) => code} />
			) : failure ? null : (
				<Loading />
			)}
		</section>
	);
}
