export class RawJson {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
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
