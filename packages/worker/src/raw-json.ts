export class RawJson {
	/** The JSON text, or its UTF-8: then a value of megabytes is posted without a copy as a string. */
	readonly json: string | Uint8Array;

	constructor(json: string | Uint8Array) {
		this.json = json;
	}

	get text(): string {
		return typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json);
	}
}

/**
 * JSON text that is sent byte for byte as a returned, yielded or progress value (D5). Only for a whole value: inside
 * a value use `JSON.rawJSON`. Throws a SyntaxError if it is not JSON.
 */
export function rawJson(text: string): RawJson {
	JSON.parse(text);
	return new RawJson(text);
}
