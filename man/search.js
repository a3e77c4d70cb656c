/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search of the HTML manual. It needs no server: index.js, which gen-html.sh makes beside the pages,
 * sets `manual` to an array of pages, each [name, section, headline, words]; `words` holds each word of
 * the page once, in lower case, with blanks between them.
 */
"use strict";

/* How well a page fits one word that is looked for; 0 if it does not have it. */
function rank(page, word)
{
	const name = page[0].toLowerCase();

	if (name === word)
		return 100;
	if (name.includes(word))
		return 40;
	if (page[2].toLowerCase().includes(word))
		return 20;
	if ((" " + page[3] + " ").includes(" " + word + " "))
		return 10;
	return page[3].includes(word) ? 4 : 0;
}

/* The pages that have all words of the text, the best first. */
function find(text)
{
	const words = text.toLowerCase().replace(/\(\d\)/g, " ").split(/[^a-z0-9_.\-]+/).filter(w => w);

	if (!words.length)
		return [];
	return manual.map(page => {
		const ranks = words.map(word => rank(page, word));
		return [page, Math.min(...ranks) ? ranks.reduce((a, b) => a + b) : 0];
	}).filter(hit => hit[1]).sort((a, b) => b[1] - a[1] || a[0][0].localeCompare(b[0][0]))
		.map(hit => hit[0]);
}

function show(text)
{
	const list = document.getElementById("found"), pages = find(text).slice(0, 30);

	list.replaceChildren(...pages.map(page => {
		const item = document.createElement("li"), link = document.createElement("a");
		link.href = `${page[0]}.${page[1]}.html`;
		link.textContent = `${page[0]}(${page[1]})`;
		item.append(link, " " + page[2]);
		return item;
	}));
	if (!pages.length && text.trim())
		list.textContent = "No page has all of these words.";
	list.hidden = !text.trim();
}

/* index.html?q=WORDS shows the result at once, so that a search can be kept as a link. */
addEventListener("DOMContentLoaded", () => {
	const field = document.getElementById("search");
	const asked = new URLSearchParams(location.search).get("q");

	field.hidden = false;
	field.addEventListener("input", () => show(field.value));
	field.addEventListener("keydown", event => {
		const first = document.querySelector("#found a");
		if (event.key === "Enter" && first)
			location.href = first.href;
		if (event.key === "Escape")
			show(field.value = "");
	});
	if (asked)
		show(field.value = asked);
});
