/**
 * Converts objects to value lists and back. The functions are compiled from the member names: a
 * loop over 24 names takes 3 µs, compiled code 0.1 µs. Names are constants of this code, never
 * input.
 */

// oxlint-disable typescript/no-implied-eval -- the texts are made of constants

/** A tree of members; a leaf is the text of an expression. */
interface Tree {
	[member: string]: string | Tree;
}

/** Compiles a function of `parameters` that returns `expression`. */
export function compile<F>(parameters: string, expression: string): F {
	return new Function(parameters, `"use strict"; return ${expression};`) as F;
}

/** The text of an object literal; members are paths such as `job.state` with expressions. */
export function objectText(members: readonly (readonly [path: string, expression: string])[]): string {
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

/** Compiles a function that returns an object's members at `paths`, in that order. */
export function packer<T>(paths: readonly string[]): (value: T) => unknown[] {
	return compile("value", `[${paths.map((path) => `value.${path}`).join(", ")}]`);
}

/** Compiles the inverse of {@link packer}. */
export function unpacker<T>(paths: readonly string[]): (values: readonly unknown[]) => T {
	return compile("values", objectText(paths.map((path, index) => [path, `values[${index}]`])));
}
