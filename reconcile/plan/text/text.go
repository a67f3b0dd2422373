// Package text words lists for people.
package text

import "strings"

// Some joins the first few of texts.
func Some(texts []string) string {
	const most = 3
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return strings.Join(texts[:most], ", ") + " and others"
}
