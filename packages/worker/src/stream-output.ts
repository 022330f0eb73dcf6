/** Yielded last by a generator of this package: JSON text of the job's output, in place of the list of chunks. */
export class StreamOutput {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
	}
}
