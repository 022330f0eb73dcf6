import type { Value } from "./work.ts";

type Readers<Row> = { [M in keyof Row]?: (value: never) => Row[M] };

/**
 * The column `created_at` is the member `createdAt` of its rows, null an absent member. SQLite keeps booleans as
 * numbers: their reader is `Boolean`.
 */
export function columns<Row>(names: string, readers: Readers<Row> = {}) {
	const each = names.split(", ").map((name) => {
		const member = name.replaceAll(/_[a-z]/g, (part) => part.charAt(1).toUpperCase());
		return { name, member, read: (readers as Record<string, ((value: unknown) => unknown) | undefined>)[member] };
	});
	return {
		names,
		parameters: each.map((_, at) => `$${at + 1}`).join(", "),
		/** Assignments of an upsert: all columns after the first `keys`. */
		replaced: (keys: number): string =>
			each
				.slice(keys)
				.map(({ name }) => `${name} = excluded.${name}`)
				.join(", "),
		from: (values: readonly unknown[]): Row =>
			Object.fromEntries(
				each.map(({ member, read }, at) => {
					const value = values[at] ?? undefined;
					return [member, value !== undefined && read ? read(value) : value];
				}),
			) as Row,
		/** The members must be stored as they are. */
		values: (row: Row): Value[] => each.map(({ member }) => (row as Record<string, Value>)[member] ?? null),
	};
}
