package fleet

import "strings"

// A TemplateHash identifies the content that a machine was made from. It is
// "<schema>-<hex>": hashes of different schemas are never compared.
type TemplateHash string

// Schema returns the schema of h.
func (h TemplateHash) Schema() string {
	schema, _, _ := strings.Cut(string(h), "-")
	return schema
}

// In returns the hash of p in a schema; empty: it has none.
func (p *Pool) In(schema string) TemplateHash {
	for _, own := range append([]TemplateHash{p.Template}, p.Former...) {
		if own.Schema() == schema {
			return own
		}
	}
	return ""
}

// Has reports whether h is the hash of what machines of p are made of, in the schema
// of h. In a schema that p has no hash of, this is not known.
func (p *Pool) Has(h TemplateHash) (same, known bool) {
	for _, own := range append([]TemplateHash{p.Template}, p.Former...) {
		if own.Schema() == h.Schema() {
			return own == h, true
		}
	}
	return false, false
}
