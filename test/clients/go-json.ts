/**
 * Go's `encoding/json` for the types of RunPod's Go SDK: integers only where it says int, a string
 * or null where it says string (protocol A.5).
 */

/**
 * What a member must be: `any` takes everything, `items` a list of objects or nulls, an object more
 * members.
 */
export type GoType = "int" | "string" | "any" | "items" | GoShape;

/** Members of a struct by name. */
export interface GoShape {
	readonly [name: string]: GoType;
}

/** Decoded members; absent and null ones are left out. */
export type GoStruct = Record<string, any>;

/**
 * Decodes into `struct`, whose members stay where the text has none, as `json.Unmarshal` does.
 * Throws with Go's words.
 */
export function unmarshal(text: string, shape: GoShape, struct: GoStruct = {}): GoStruct {
	/** Numbers as they stand in the text: 1.0 is no integer, though it equals 1. */
	const literals = new WeakMap<object, Map<string, string>>();
	const reviver = function (this: object, name: string, value: unknown, context?: { source?: string }): unknown {
		if (typeof value === "number") {
			const of = literals.get(this) ?? new Map<string, string>();
			literals.set(this, of.set(name, context!.source!));
		}
		return value;
	};
	let whole: unknown;
	try {
		whole = JSON.parse(text, reviver);
	} catch (error) {
		throw new Error(`json decoder error: ${String(error)}`);
	}
	fill(struct, whole, shape, "");
	return struct;

	function fill(into: GoStruct, from: unknown, members: GoShape, at: string): void {
		if (from === null) return;
		if (typeof from !== "object" || Array.isArray(from)) throw mismatch(kindOf(from), at, "struct");
		for (const [name, value] of Object.entries(from)) {
			// Go takes a member whatever its letters' case, and ignores those it does not know.
			const wanted = Object.keys(members).find((known) => known.toLowerCase() === name.toLowerCase());
			if (wanted === undefined) continue;
			if (value === null) delete into[wanted];
			else
				into[wanted] = decoded(value, members[wanted]!, `${at}${wanted}`, literals.get(from)?.get(name), into[wanted]);
		}
	}

	function decoded(value: unknown, type: GoType, at: string, literal: string | undefined, before: unknown): unknown {
		if (type === "any") return value;
		if (type === "string") {
			if (typeof value === "string") return value;
			throw mismatch(kindOf(value), at, "string");
		}
		if (type === "int") {
			if (literal !== undefined && /^-?\d+$/.test(literal) && BigInt.asIntN(64, BigInt(literal)) === BigInt(literal))
				return value;
			throw mismatch(literal === undefined ? kindOf(value) : `number ${literal}`, at, "int");
		}
		if (type === "items") {
			if (!Array.isArray(value)) throw mismatch(kindOf(value), at, "[]StreamResult");
			for (const item of value)
				if (typeof item !== "object" || Array.isArray(item)) throw mismatch(kindOf(item), at, "StreamResult");
			return value;
		}
		const struct = (before ?? {}) as GoStruct;
		fill(struct, value, type, `${at}.`);
		return struct;
	}
}

function mismatch(found: string, at: string, wanted: string): Error {
	return new Error(`json decoder error: json: cannot unmarshal ${found} into Go struct field ${at} of type ${wanted}`);
}

function kindOf(value: unknown): string {
	return Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
}

/** `json.Marshal`: `<`, `>`, `&` and two line separators are escaped. */
export function marshal(value: unknown): string {
	return JSON.stringify(value).replace(
		/[<>&\u2028\u2029]/g,
		(unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
