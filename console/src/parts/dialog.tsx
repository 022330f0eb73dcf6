/**
 * Windows over the page: what must be answered, or a question before something that cannot be taken
 * back.
 */
import { type ReactNode, type RefObject, useState } from "react";
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { useAct } from "./act.ts";
import { T } from "../text/text.ts";
import { Button, IconButton } from "./button.tsx";
import { TextField } from "./field.tsx";

/** Shown while it is in the page; focus stays inside, Escape closes. */
export function Dialog({
	title,
	children,
	close,
	wide = false,
}: {
	title: string;
	children: ReactNode;
	close: () => void;
	wide?: boolean;
}): ReactNode {
	return (
		<ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => (open ? undefined : close())}>
			<Modal className={wide ? "modal wide" : "modal"}>
				<AriaDialog className="dialog">
					<header className="dialog-head">
						<Heading slot="title">{title}</Heading>
						<IconButton name={T.close} icon="close" onPress={close} />
					</header>
					{children}
				</AriaDialog>
			</Modal>
		</ModalOverlay>
	);
}

/** What is filled in before something is done, with the buttons that do it or not. */
export function DialogForm({
	children,
	act,
	danger = false,
	busy = false,
	disabled = false,
	submit,
	close,
	form,
}: {
	children: ReactNode;
	/** What the button says: the deed itself. */
	act: string;
	danger?: boolean;
	busy?: boolean;
	disabled?: boolean;
	submit: () => void;
	close: () => void;
	form?: RefObject<HTMLFormElement | null>;
}): ReactNode {
	return (
		<form
			ref={form}
			className="stack"
			onSubmit={(event) => {
				event.preventDefault();
				// A form around it in the page is not submitted by this one.
				event.stopPropagation();
				submit();
			}}
		>
			{children}
			<div className="actions end">
				<Button look="quiet" onPress={close}>
					{act.startsWith(T.job.cancel) ? T.dismissCancel : T.dismiss}
				</Button>
				<Button look={danger ? "danger" : "main"} busy={busy} disabled={disabled}>
					{act}
				</Button>
			</div>
		</form>
	);
}

interface ConfirmProps {
	title: string;
	children: ReactNode;
	act: string;
	danger?: boolean;
	/** Text that must be typed first. */
	typed?: string;
	doing: () => Promise<unknown>;
	done?: string;
	close: () => void;
	wide?: boolean;
}

/** Asks first, then does it; stays open when that fails. */
export function Confirm({
	title,
	children,
	act,
	danger = false,
	typed,
	doing,
	done,
	close,
	wide = false,
}: ConfirmProps): ReactNode {
	const [text, setText] = useState("");
	const { busy, run } = useAct();
	const submit = async (): Promise<void> => {
		if (await run(doing, done)) close();
	};
	return (
		<Dialog title={title} close={close} wide={wide}>
			<DialogForm
				act={act}
				danger={danger}
				busy={busy}
				disabled={typed !== undefined && text !== typed}
				submit={() => void submit()}
				close={close}
			>
				{children}
				{typed === undefined ? null : <TextField label={T.typeToConfirm(typed)} value={text} onChange={setText} mono />}
			</DialogForm>
		</Dialog>
	);
}
