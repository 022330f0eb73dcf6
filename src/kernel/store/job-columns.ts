/** The columns of a job, and the functions that pack and unpack value lists of them. */
import type { Job, Submission } from "../core/jobs/job.ts";

// oxlint-disable typescript/no-implied-eval -- the texts are made of constants

interface Tree {
	[member: string]: string | Tree;
}

/**
 * Compiles a function: a loop over 24 names takes 3 µs, compiled code 0.1 µs. Names are constants of this code, never
 * input.
 */
export function compile<F>(parameters: string, expression: string): F {
	return new Function(parameters, `"use strict"; return ${expression};`) as F;
}

/** Members are paths such as `job.state` with expressions. */
function objectText(members: readonly (readonly [path: string, expression: string])[]): string {
	const root: Tree = {};
	for (const [path, expression] of members) {
		const names = path.split(".");
		const last = names.pop()!;
		let tree = root;
		for (const name of names) tree = (tree[name] ??= {}) as Tree;
		tree[last] = expression;
	}
	const textOf = (tree: string | Tree): string =>
		typeof tree === "string"
			? tree
			: `{ ${Object.entries(tree)
					.map(([name, each]) => `${name}: ${textOf(each)}`)
					.join(", ")} }`;
	return textOf(root);
}

export function packer<T>(paths: readonly string[]): (value: T) => unknown[] {
	return compile("value", `[${paths.map((path) => `value.${path}`).join(", ")}]`);
}

export function unpacker<T>(paths: readonly string[]): (values: readonly unknown[]) => T {
	return compile("values", objectText(paths.map((path, index) => [path, `values[${index}]`])));
}

/** All code that reads or writes jobs as value lists is generated from this table. */
type TypeOf<V> = V extends number ? "int8" : V extends boolean ? "bool" : "text";

interface Column<M extends keyof Job> {
	/** PostgreSQL type; SQLite stores `bool` as 0 or 1. */
	type: TypeOf<NonNullable<Job[M]>>;
	nullable: undefined extends Job[M] ? true : false;
	/** Whether the submission sets the column; all others follow from the job's state. */
	submitted: M extends keyof Submission ? true : false;
	changes: boolean;
}

export interface JobColumn {
	member: keyof Job;
	name: string;
	type: "int8" | "text" | "bool";
	nullable: boolean;
	submitted: boolean;
	changes: boolean;
}

const fixed = { nullable: false, changes: false } as const;
const changing = { nullable: false, changes: true } as const;
const optional = { nullable: true, changes: true } as const;

const COLUMNS: { [M in keyof Job]-?: Column<M> } = {
	id: { type: "text", ...fixed, submitted: true },
	endpoint: { type: "text", ...fixed, submitted: true },
	operation: { type: "text", ...fixed, submitted: true },
	lowPriority: { type: "bool", ...fixed, submitted: true },
	state: { type: "text", ...changing, submitted: false },
	submittedAt: { type: "int8", ...fixed, submitted: false },
	queuedAt: { type: "int8", ...changing, submitted: false },
	startedAt: { type: "int8", ...optional, submitted: false },
	endedAt: { type: "int8", ...optional, submitted: false },
	retriedAt: { type: "int8", ...optional, submitted: false },
	attempt: { type: "int8", ...changing, submitted: false },
	worker: { type: "text", ...optional, submitted: false },
	release: { type: "int8", ...optional, submitted: false },
	losses: { type: "int8", ...changing, submitted: false },
	returns: { type: "int8", ...changing, submitted: false },
	run: { type: "int8", ...optional, submitted: false },
	missed: { type: "int8", ...changing, submitted: false },
	deniedAt: { type: "int8", ...optional, submitted: false },
	ttlMs: { type: "int8", ...fixed, submitted: true },
	executionTimeoutMs: { type: "int8", ...fixed, submitted: true },
	leaseMs: { type: "int8", ...fixed, submitted: true },
	leaseUntil: { type: "int8", ...optional, submitted: false },
	retainMs: { type: "int8", ...changing, submitted: true },
	recordMs: { type: "int8", ...fixed, submitted: true },
	erased: { type: "bool", ...changing, submitted: false },
	dueAt: { type: "int8", ...changing, submitted: false },
	webhook: { type: "text", ...optional, submitted: true },
	s3Config: { type: "text", ...optional, submitted: true },
	requestId: { type: "text", nullable: true, changes: false, submitted: true },
	trace: { type: "text", nullable: true, changes: false, submitted: true },
};

const ALL: readonly JobColumn[] = Object.entries(COLUMNS).map(([member, column]) => ({
	member: member as keyof Job,
	name: member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
	...column,
}));

const isKey = ({ member }: JobColumn): boolean => member === "id" || member === "endpoint";

/** Columns that never change. Each dialect handles endpoint and id separately. */
export const FIXED = ALL.filter((column) => !column.changes && !isKey(column));
export const CHANGING = ALL.filter((column) => column.changes);

export const namesOf = (columns: readonly JobColumn[]): string[] => columns.map(({ name }) => name);

const MEMBERS = ALL.map(({ member }) => member);

export const SUBMISSION_MEMBERS = ALL.flatMap(({ member, submitted }) => (submitted ? [member] : []));

export const packJob = packer<Job>(MEMBERS);
export const unpackJob = unpacker<Job>(MEMBERS);

/** Converts the source text of an expression between job and row. */
export type Conversion = (column: JobColumn, value: string) => string;

export function jobWriter<V>(columns: readonly JobColumn[], write: Conversion): (job: Job) => V[] {
	return compile("job", `[${columns.map((column) => write(column, `job.${column.member}`)).join(", ")}]`);
}

/** `names`: columns of the row; must include `id`, {@link FIXED} and {@link CHANGING}. */
export function jobReader(
	names: readonly string[],
	read: Conversion,
): (values: readonly unknown[], endpoint: string) => Job {
	const members = ALL.map((column) => {
		const at = names.indexOf(column.name);
		if (at < 0 && column.member !== "endpoint") throw new Error(`No column ${column.name}.`);
		const value = column.member === "endpoint" ? "endpoint" : read(column, `values[${at}]`);
		return [column.member, value] as const;
	});
	return compile("values, endpoint", objectText(members));
}
