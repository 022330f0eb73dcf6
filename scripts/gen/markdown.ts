/** Markdown, for the pages under `docs/reference/`. */

/** A page by its file name. */
export interface Page {
	file: string;
	title: string;
	/** One line for the index. */
	about: string;
	/** Everything below the title. */
	body: () => string;
}

const HEAD =
	"<!-- Made by `npm run reference` from the source. Changes here are lost: change the source. -->";

/** The page as a text. */
export function pageText({ title, body }: Page): string {
	return `${HEAD}\n\n# ${title}\n\n${body().trim()}\n`;
}

/** A table; cells are put on one line. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
	return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function cell(text: string): string {
	return text
		.replaceAll("|", "\\|")
		.replace(/\s*\n\s*/g, " ")
		.trim();
}

/** Text as code. */
export function code(text: string): string {
	return text === "" ? "" : text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Text whose angle brackets and stars are not Markdown's. */
export function plain(text: string): string {
	return text.replace(/[<>]/g, (mark) => (mark === "<" ? "&lt;" : "&gt;")).replaceAll("*", "\\*");
}

/** The anchor that a heading of this text gets. */
export function headingAnchor(text: string): string {
	return text
		.toLowerCase()
		.replace(/[^\p{L}\p{N} _-]/gu, "")
		.replaceAll(" ", "-");
}

/** A number with commas between thousands. */
export function grouped(value: number): string {
	return value.toLocaleString("en-US");
}

/** A time in ms with what it is in larger units. */
export function duration(ms: number): string {
	const units = [
		["days", 86_400_000],
		["h", 3_600_000],
		["min", 60_000],
		["s", 1000],
	] as const;
	const [name, size] = units.find(([, each]) => ms >= each && ms % each === 0) ?? ["ms", 1];
	return name === "ms"
		? `${grouped(ms)} ms`
		: `${grouped(ms)} ms (${ms / size} ${name === "days" && ms === size ? "day" : name})`;
}
