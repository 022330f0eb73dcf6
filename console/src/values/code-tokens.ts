/** Code in colours: comments, texts, numbers and words of the language. Enough for the snippets of the console. */

type TokenKind = "comment" | "string" | "number" | "keyword" | "plain";
interface Token {
	kind: TokenKind;
	text: string;
}

const KEYWORDS = [
	...["import", "from", "as", "for", "in", "print", "async", "await", "of", "const", "let", "return", "new"],
	...["package", "func", "if", "nil", "panic", "defer", "export", "curl", "docker", "run"],
	...["True", "False", "None", "true", "false", "null", "apiVersion", "kind", "metadata", "spec", "services"],
].join("|");

const TOKENS = new RegExp(
	[
		/(?<comment>(?<=^|\s)(?:#|\/\/)(?!\/).*)/,
		// A text without an end goes on to the end: looking for it again at each quote takes quadratic time.
		/(?<string>r?"""[\s\S]*?(?:"""|(?![\s\S]))|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\])*'?|`(?:\\.|[^`\\])*`?)/,
		/(?<number>\b\d[\d_.]*\b)/,
	]
		.map(({ source }) => source)
		.concat(`\\b(?<keyword>${KEYWORDS})\\b`)
		.join("|"),
	"gm",
);

export function tokensOf(code: string): readonly Token[] {
	const tokens: Token[] = [];
	let end = 0;
	for (const match of code.matchAll(TOKENS)) {
		if (match.index > end) tokens.push({ kind: "plain", text: code.slice(end, match.index) });
		const kind = Object.entries(match.groups!).find(([, text]) => text !== undefined)![0] as TokenKind;
		tokens.push({ kind, text: match[0] });
		end = match.index + match[0].length;
	}
	if (end < code.length) tokens.push({ kind: "plain", text: code.slice(end) });
	return tokens;
}
