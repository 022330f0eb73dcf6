/** The chat as code, in a dialog. */
import type { ReactNode } from "react";
import { BASE } from "../../client/api.ts";
import { CHAT_CODE } from "../../values/chat/chat-code.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { CodeTabs } from "../../parts/values/code-tabs.tsx";
import { T } from "../../text/text.ts";

export function ChatCode({
	endpoint,
	body,
	close,
}: {
	endpoint: string;
	body: Readonly<Record<string, unknown>>;
	close: () => void;
}): ReactNode {
	const place = { base: BASE.replace(/\/$/, ""), endpoint, body };
	return (
		<Dialog title={T.chat.code} close={close} wide>
			<CodeTabs
				name={T.chat.code}
				memory="chat-code"
				tabs={CHAT_CODE.map(({ id, name, text }) => ({ id, name, text: text(place) }))}
			/>
			<p className="hint">{T.chat.codeHint}</p>
		</Dialog>
	);
}
