/** Streams (D7). */
import type { JobRow } from "../row.ts";
import type { ChunkRead } from "../contract/jobs.ts";
import { current, hadJob, runningAt } from "./jobs.ts";
import type { Query, SharedOperation, SharedRead } from "./operation.ts";
import type { JobKey, ReadUnit } from "./unit-of-work.ts";

const readsJob = ({ endpoint, id }: JobKey) => ({ jobs: [{ endpoint, id }] });

/** A job whose chunks below `end` exist. */
interface Visible<Row> {
	row: Row;
	state: ChunkRead["state"];
	end: number;
}

function visible<Row extends JobRow>(unit: ReadUnit<Row>, q: JobKey & { now: number }): Visible<Row> | undefined {
	const row = unit.records.find(q);
	const projected = row && unit.transitions.project(row, q.now);
	if (!projected || projected.job.erased) return undefined;
	const dropped = (which: "undelivered" | "all"): boolean => projected.steps.some(({ chunks }) => chunks === which);
	return {
		row,
		state: projected.job.state,
		end: dropped("all") ? 0 : dropped("undelivered") ? unit.chunks.undelivered(row) : row.nextChunk,
	};
}

/** Whether further chunks would exceed the limits of a stream (D43). */
function isOver(
	{ nextChunk, outputBytes }: JobRow,
	{ chunks, bytes, bound }: Pick<Query<"chunks.append">, "chunks" | "bound"> & { bytes: number },
): boolean {
	if (bound === undefined) return false;
	return nextChunk + chunks.length > bound.chunks || outputBytes + bytes > bound.bytes;
}

export const append: SharedOperation<"chunks.append"> = {
	kind: "write",
	reads: readsJob,

	follow(unit, { endpoint, id, chunks, unlessLast }) {
		const row = unlessLast ? unit.records.find({ endpoint, id }) : undefined;
		return row && chunks.length > 0 ? { lastChunks: { row, count: chunks.length } } : undefined;
	},

	apply(unit, q) {
		const { endpoint, id, worker, release, attempt, chunks, unlessLast, now } = q;
		const found = current(unit, { endpoint, id, now });
		if (!found) return { ok: false, why: "missing" };
		const row = runningAt(unit, found, { worker, release, attempt, now });
		if (!row) return { ok: false, why: hadJob(unit, found, worker) ? "stale" : "missing" };
		const last = unlessLast && chunks.length > 0 ? unit.chunks.last(row, chunks.length) : undefined;
		const repeat = last?.every((text, index) => text === chunks[index]) ?? false;
		const bytes = chunks.reduce((sum, text) => sum + text.length, 0);
		if (!repeat && isOver(row, { ...q, bytes })) return { ok: false, why: "full" };
		if (!repeat) chunks.forEach((text, index) => unit.chunks.insert(row, row.nextChunk + index, text));
		unit.records.update(row, {
			job: unit.transitions.renewed(row.job, now),
			nextChunk: row.nextChunk + (repeat ? 0 : chunks.length),
			outputBytes: row.outputBytes + (repeat ? 0 : bytes),
		});
		unit.notifyOthers({ kind: "chunks", endpoint, id });
		return { ok: true, repeat, from: row.nextChunk, attempt: row.job.attempt };
	},
};

export const read: SharedRead<"chunks.read"> = {
	kind: "read",
	reads: readsJob,

	follow(unit, q) {
		const stream = visible(unit, q);
		return stream && { range: { row: stream.row, end: stream.end, ...rangeOf(q) } };
	},

	apply(unit, q) {
		const stream = visible(unit, q);
		if (!stream) return undefined;
		const { row, state, end } = stream;
		return { state, ...unit.chunks.range(row, { end, ...rangeOf(q) }) };
	},
};

function rangeOf({ from, maxBytes }: Query<"chunks.read">): { from: number; maxBytes: number } {
	return { from, maxBytes };
}

export const reserve: SharedOperation<"chunks.reserve"> = {
	kind: "write",
	reads: readsJob,

	follow(unit, q) {
		const stream = visible(unit, q);
		if (!stream) return undefined;
		const { row, end } = stream;
		return { range: { row, end, from: row.cursor, maxBytes: q.maxBytes, reader: q.reader } };
	},

	apply(unit, q) {
		const stream = visible(unit, q);
		if (!stream) return undefined;
		const { row, state, end } = stream;
		const from = row.cursor;
		if (unit.chunks.isBusy(row, q.reader)) return { state, from, next: from, chunks: [], more: true, busy: true };
		const range = unit.chunks.range(row, { from, end, maxBytes: q.maxBytes });
		if (range.chunks.length > 0) unit.chunks.reserve(row, { reader: q.reader, end: range.next });
		return { state, ...range };
	},
};

export const deliver: SharedOperation<"chunks.deliver"> = {
	kind: "write",
	reads: readsJob,
	apply(unit, { endpoint, id, reader, delivered }) {
		const row = unit.records.find({ endpoint, id });
		const reservation = row && unit.chunks.reservation(row);
		if (!row || reservation?.reader !== reader) return;
		const after = unit.chunks.release(row);
		if (delivered && reservation.end > row.cursor) unit.records.update(after, { cursor: reservation.end });
		unit.notifyOthers({ kind: "chunks", endpoint, id });
	},
};
