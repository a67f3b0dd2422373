// Package document renders plans: what a revision, or the merge of a pull request, would change.
//
// What it guarantees:
//
//   - Each medium is rendered from the same document, a status.Plan: the comment on a pull request, the
//     file for people on the status branch, the page and the command line. No rendered text is parsed.
//   - What others wrote is in code spans in Markdown, in which nothing is a link, a name or a tag.
//   - Changes that end a promise come first, then those that lose something.
package document
