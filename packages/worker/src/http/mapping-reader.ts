/** Reads one object of the mapping, member by member, and collects a sentence for each that cannot work. */

/** Inclusive bounds of an integer and its default. `unit` follows numbers in sentences. */
export interface IntegerOptions {
	min: number;
	max: number;
	fallback: number;
	unit?: string;
}

export class ObjectReader {
	readonly path: string;
	readonly #members: Record<string, unknown>;
	readonly #faults: string[];
	readonly #known = new Set<string>();

	/** A `value` that is no object is a fault, and read as an empty object. */
	constructor(value: unknown, path: string, faults: string[]) {
		this.path = path;
		this.#faults = faults;
		this.#members = isObject(value) ? value : {};
		if (!isObject(value)) faults.push(`${path} must be an object; it is ${shown(value)}.`);
	}

	/** Path of a member, for sentences. */
	at(name: string): string {
		return `${this.path}.${name}`;
	}

	fault(name: string, sentence: string): void {
		this.#faults.push(`${this.at(name)} ${sentence}`);
	}

	has(name: string): boolean {
		this.#known.add(name);
		return this.#members[name] !== undefined;
	}

	any(name: string): unknown {
		this.#known.add(name);
		return this.#members[name];
	}

	text(name: string): string | undefined {
		const value = this.any(name);
		if (value === undefined || typeof value === "string") return value;
		this.fault(name, `must be a text; it is ${shown(value)}.`);
		return undefined;
	}

	flag(name: string): boolean {
		const value = this.any(name) ?? false;
		if (typeof value === "boolean") return value;
		this.fault(name, `must be true or false; it is ${shown(value)}.`);
		return false;
	}

	integer(name: string, { min, max, fallback, unit = "" }: IntegerOptions): number {
		const value = this.any(name) ?? fallback;
		if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
		const after = unit && ` ${unit}`;
		this.fault(name, `must be an integer from ${min} to ${max}${after}; it is ${shown(value)}.`);
		return fallback;
	}

	oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
		const value = this.any(name) ?? fallback;
		const found = values.find((each) => each === value);
		if (found !== undefined) return found;
		this.fault(name, `must be one of ${values.join(", ")}; it is ${shown(value)}.`);
		return fallback;
	}

	/** An empty list without the member. */
	list(name: string): unknown[] {
		const value = this.any(name) ?? [];
		if (Array.isArray(value)) return value;
		this.fault(name, `must be a list; it is ${shown(value)}.`);
		return [];
	}

	/** An empty object without the member. Values that are no texts are faults. */
	texts(name: string): Record<string, string> {
		const value = this.any(name) ?? {};
		if (!isObject(value)) {
			this.fault(name, `must be an object of texts; it is ${shown(value)}.`);
			return {};
		}
		for (const [key, each] of Object.entries(value))
			if (typeof each !== "string") this.fault(`${name}.${key}`, `must be a text; it is ${shown(each)}.`);
		return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, String(each)]));
	}

	/** Undefined without the member. */
	object(name: string): ObjectReader | undefined {
		return this.has(name) ? new ObjectReader(this.#members[name], this.at(name), this.#faults) : undefined;
	}

	/** Reads the elements of a list of objects. */
	objects(name: string): ObjectReader[] {
		return this.list(name).map((each, index) => new ObjectReader(each, `${this.at(name)}[${index}]`, this.#faults));
	}

	/** Makes each member that was not read a fault. Called after all reads. */
	end(): void {
		for (const name of Object.keys(this.#members))
			if (!this.#known.has(name))
				this.fault(name, `is unknown. Expected one of ${[...this.#known].toSorted().join(", ")}.`);
	}
}

export function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value in a sentence, at most 60 characters. */
function shown(value: unknown): string {
	const text = JSON.stringify(value) ?? "undefined";
	return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
