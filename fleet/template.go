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

// Has reports whether h is a hash of what machines of p are made of, in the schema of h. In a
// schema that p has no hash of nobody knows. p has several hashes in a schema if what is the
// same for a machine was written in several ways.
func (p *Pool) Has(h TemplateHash) (same, known bool) {
	for _, own := range append([]TemplateHash{p.Template}, p.Former...) {
		if own == h {
			return true, true
		}
		known = known || own.Schema() == h.Schema()
	}
	return false, known
}
