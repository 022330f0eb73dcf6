/** JSON text that goes out as it is (D5). */

/** JSON text to be spliced unchanged. Made by {@link rawJson}. */
export class RawJson {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
	}
}

/**
 * Wraps JSON text that a handler returns, yields or reports as progress, so that it is sent byte
 * for byte instead of being printed by `JSON.stringify`. Works for the whole value; inside a value
 * use `JSON.rawJSON` for single numbers. Throws a SyntaxError when the text is not JSON, since the
 * service could not store it.
 */
export function rawJson(text: string): RawJson {
	JSON.parse(text);
	return new RawJson(text);
}
