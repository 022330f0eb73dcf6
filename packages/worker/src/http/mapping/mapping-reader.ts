/** Reads one object of the mapping, member by member, and collects a fault for each that cannot work. */

/** `path`: that of the member, such as `http.request.path`. `message`: what it must be, without the path. */
export interface MappingFault {
	path: string;
	message: string;
}

/** Inclusive bounds of an integer and its default. `unit` follows numbers in sentences. */
export interface IntegerOptions {
	min: number;
	max: number;
	fallback: number;
	unit?: keyof typeof UNITS;
}

/** What a text such as "5s" or "45mb" is multiplied by. */
const UNITS: Record<"ms" | "bytes", Readonly<Record<string, number>>> = {
	ms: { ms: 1, s: 1000, m: 60_000, h: 3_600_000 },
	bytes: { b: 1, kb: 1024, mb: 1_048_576 },
};

const DAY_MS = 86_400_000;

export class ObjectReader {
	readonly path: string;
	readonly #members: Record<string, unknown>;
	readonly #faults: MappingFault[];
	readonly #known = new Set<string>();
	readonly #parts: ObjectReader[] = [];

	/** A `value` that is no object is a fault, and read as an empty object. */
	constructor(value: unknown, path: string, faults: MappingFault[]) {
		this.path = path;
		this.#faults = faults;
		this.#members = isObject(value) ? value : {};
		if (!isObject(value)) faults.push({ path, message: `must be an object; it is ${shown(value)}.` });
	}

	fault(name: string, message: string): void {
		this.#faults.push({ path: `${this.path}.${name}`, message });
	}

	has(name: string): boolean {
		return this.any(name) !== undefined;
	}

	/** A missing member is a fault. `what` says what to write. */
	need(name: string, what: string): void {
		if (!this.has(name)) this.fault(name, `is missing: write ${what}.`);
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

	flag(name: string, fallback: boolean): boolean {
		const value = this.any(name) ?? fallback;
		if (typeof value === "boolean") return value;
		this.fault(name, `must be true or false; it is ${shown(value)}.`);
		return fallback;
	}

	integer(name: string, { min, max, fallback, unit }: IntegerOptions): number {
		const given = this.any(name) ?? fallback;
		const value = typeof given === "string" && unit !== undefined ? amount(given, UNITS[unit]) : given;
		if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
		const example = unit === "ms" ? ' ms, or a text such as "5s"' : ' bytes, or a text such as "4mb"';
		this.fault(name, `must be an integer from ${min} to ${max}${unit ? example : ""}; it is ${shown(given)}.`);
		return fallback;
	}

	/** A time, at most a day. */
	ms(name: string, min: number, fallback: number): number {
		return this.integer(name, { min, max: DAY_MS, fallback, unit: "ms" });
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
	optional<T>(name: string, read: (reader: ObjectReader) => T): T | undefined {
		return this.has(name) ? read(this.section(name)) : undefined;
	}

	/** An empty object without the member. */
	section(name: string): ObjectReader {
		return this.#part(this.has(name) ? this.#members[name] : {}, name);
	}

	/** The elements of a list of objects. */
	objects<T>(name: string, read: (reader: ObjectReader) => T): T[] {
		return this.list(name).map((each, index) => read(this.#part(each, `${name}[${index}]`)));
	}

	#part(value: unknown, name: string): ObjectReader {
		const part = new ObjectReader(value, `${this.path}.${name}`, this.#faults);
		this.#parts.push(part);
		return part;
	}

	/** Makes each member that was not read a fault, also of the objects within. Called after all reads. */
	end(): void {
		for (const name of Object.keys(this.#members))
			if (!this.#known.has(name))
				this.fault(name, `is unknown. Expected one of ${[...this.#known].toSorted().join(", ")}.`);
		for (const part of this.#parts) part.end();
	}
}

export function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** NaN for a text without a number or with another unit. */
function amount(text: string, factors: Readonly<Record<string, number>>): number {
	const [, digits, unit = ""] = /^(\d{1,15}(?:\.\d{1,9})?) ?([a-z]+)$/i.exec(text) ?? [];
	const factor = Object.hasOwn(factors, unit.toLowerCase()) ? factors[unit.toLowerCase()]! : Number.NaN;
	return Number(digits) * factor;
}

/** A value in a sentence, at most 60 characters. */
export function shown(value: unknown): string {
	const text = JSON.stringify(value) ?? "undefined";
	return text.length > 60 ? `${text.slice(0, 57).toWellFormed()}...` : text;
}
