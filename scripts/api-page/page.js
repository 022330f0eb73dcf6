const ADDRESS = "http://127.0.0.1:8080";
const ENDPOINT = "thumbnail";

/** The examples call the service that this page is from, with the endpoint of `?endpoint=`. */
function nameWhatIsAsked() {
	const address = new URL("../..", location.href).href.replace(/\/$/, "");
	const asked = new URLSearchParams(location.search).get("endpoint") ?? "";
	const endpoint = /^[a-zA-Z0-9_-]{1,64}$/.test(asked) ? asked : ENDPOINT;
	const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let text = texts.nextNode(); text; text = texts.nextNode())
		if (text.parentElement.matches("pre code, strong, p code"))
			text.data = text.data
				.replaceAll(ADDRESS, address)
				.replaceAll(/(?<=\/(?:v2|endpoints|worker)\/|worker-env )thumbnail\b/g, endpoint);
	document.querySelector("#endpoint").value = endpoint;
}

nameWhatIsAsked();

const search = document.querySelector("#search");
const none = document.querySelector("#none");
const entries = [...document.querySelectorAll("main article")].map((article) => ({
	article,
	item: document.querySelector('nav a[href="#' + article.id + '"]')?.parentElement,
	text: [...article.querySelectorAll("h3, .about, .answer, .folds, :scope > p, :scope > table")]
		.map((part) => part.textContent.replaceAll("\u200b", ""))
		.join(" ")
		.toLowerCase(),
}));
const groups = [...document.querySelectorAll("main .group")].map((section) => ({
	section,
	parts: document.querySelectorAll('nav [data-group="' + section.getAttribute("aria-labelledby") + '"]'),
}));

function filter() {
	const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
	for (const { article, item, text } of entries) {
		article.hidden = !words.every((word) => text.includes(word));
		if (item) item.hidden = article.hidden;
	}
	for (const { section, parts } of groups) {
		section.hidden = !section.querySelector("article:not([hidden])");
		for (const part of parts) part.hidden = section.hidden;
	}
	none.hidden = entries.some(({ article }) => !article.hidden);
	none.textContent = none.hidden ? "" : "Nothing here has " + words.join(" and ") + ".";
	document.querySelector(".intro").hidden = words.length > 0;
}

search.closest("search").hidden = false;
search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
	if (event.key === "Escape" && document.activeElement === search) {
		search.value = "";
		filter();
	}
	if (event.key !== "/" || event.target.matches("input")) return;
	event.preventDefault();
	search.focus();
});
// A link to what the search hides shows everything again.
addEventListener("hashchange", () => {
	const target = document.getElementById(location.hash.slice(1));
	if (!target?.closest("[hidden]")) return;
	search.value = "";
	filter();
	target.scrollIntoView();
});

const KEY = "sluice-docs-language";
for (const choice of document.getElementsByName("language"))
	choice.addEventListener("change", () => {
		try {
			localStorage.setItem(KEY, choice.id);
		} catch {}
	});
try {
	const choice = document.getElementById(localStorage.getItem(KEY) ?? "");
	if (choice) choice.checked = true;
} catch {}
filter();
