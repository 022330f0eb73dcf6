/**
 * A command as it is typed, in its words: quotes, single or double, hold one together. No shell:
 * nothing else has a meaning.
 */
export function wordsOf(text: string): string[] {
	return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"']+|["'])+/g)].map(([word]) =>
		word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""),
	);
}
