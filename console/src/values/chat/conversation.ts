/** The state of a chat: questions and answers, the one in progress, and how fast answers came. */
import { useEffect, useRef, useState } from "react";
import { Failure } from "../../client/api.ts";
import { chatBody, type ChatSettings, type Exchange, messagesOf } from "./chat-format.ts";
import { chat } from "./chat.ts";

export interface Conversation {
	exchanges: readonly Exchange[];
	busy: boolean;
	send: (question: string, settings: ChatSettings) => Promise<void>;
	/** Ends the answer in progress; its job is cancelled. */
	stop: () => void;
	clear: () => void;
}

export function useConversation(endpoint: string): Conversation {
	const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
	const [busy, setBusy] = useState(false);
	const open = useRef<AbortController | undefined>(undefined);
	useEffect(() => () => open.current?.abort(), []);

	const send = async (question: string, settings: ChatSettings): Promise<void> => {
		const mine = (open.current = new AbortController());
		const change = (to: (last: Exchange) => Partial<Exchange>): void => {
			if (open.current === mine) setExchanges((all) => [...all.slice(0, -1), { ...all.at(-1)!, ...to(all.at(-1)!) }]);
		};
		setExchanges([...exchanges, { question, answer: "", reasoning: "" }]);
		setBusy(true);
		try {
			const pace = await chat({
				endpoint,
				body: chatBody(settings, [...messagesOf(exchanges), { role: "user", content: question }]),
				signal: mine.signal,
				onJob: (job) => change(() => ({ job })),
				onPiece: ({ content, reasoning }) =>
					change((last) => ({
						answer: last.answer + content,
						reasoning: last.reasoning + reasoning,
					})),
			});
			change(() => ({ pace }));
		} catch (error) {
			if (mine.signal.aborted) change(() => ({ stopped: true }));
			else if (error instanceof Failure) change(() => ({ failure: error }));
			else throw error;
		} finally {
			if (open.current === mine) setBusy(false);
		}
	};

	return {
		exchanges,
		busy,
		send,
		stop: () => open.current?.abort(),
		clear() {
			open.current?.abort();
			open.current = undefined;
			setExchanges([]);
			setBusy(false);
		},
	};
}
