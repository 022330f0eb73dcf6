/** Code in colours. */
import { type ReactNode, useMemo } from "react";
import { tokensOf } from "../../values/code-tokens.ts";

/** Longer code is shown without them. */
const MOST = 20_000;

export function Code({ text }: { text: string }): ReactNode {
	const tokens = useMemo(() => (text.length > MOST ? undefined : tokensOf(text)), [text]);
	return (
		<code>
			{tokens
				? tokens.map(({ kind, text: part }, index) =>
						kind === "plain" ? (
							part
						) : (
							<span key={index} className={`code-${kind}`}>
								{part}
							</span>
						),
					)
				: text}
		</code>
	);
}
