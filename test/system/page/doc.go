// Package page tests the page of a fleet in a browser: a real Chromium, driven through a
// pipe, looks at what fairlead serves. Without Chromium the tests skip.
//
//	make test-page       keeps a screenshot of each view in bin/page
//	make screenshots     writes the pictures of docs/guides/fleet/page.md
package page
