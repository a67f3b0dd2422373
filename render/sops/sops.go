package sops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"filippo.io/age"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// Options are what a Decrypter is made with.
type Options struct {
	// Identities are age identities, one a line, each Secret a file of them.
	Identities []fleet.Secret
	// Sealed, if not nil, is called with each file that no identity decrypts, and why. Its
	// Secrets then have the values REDACTED. It is only for commands that show things:
	// whatever acts needs the values.
	Sealed func(file, why string)
	// Program, if not empty, is the name or path of sops. It is run for files whose key no
	// identity decrypts, and that are encrypted for PGP keys or key services as well.
	Program string
	// Redact replaces all decrypted values by REDACTED. It is only for commands that show things.
	Redact bool
}

// A Decrypter decrypts files. It is safe for concurrent use.
type Decrypter struct {
	options    Options
	identities []age.Identity
	limits     documents.Limits
	program    *program // nil: none is run
	redact     bool     // decrypted values are replaced by REDACTED
}

// New returns a Decrypter. The error says which of the identities cannot be read, without
// their content.
func New(o Options) (*Decrypter, error) {
	d := Keyless()
	d.options, d.redact = o, o.Redact
	if o.Program != "" {
		d.program = newProgram(o.Program)
	}
	for i, content := range o.Identities {
		all, err := age.ParseIdentities(bytes.NewReader(content.Reveal()))
		if err != nil {
			return nil, fleet.Errorf(fleet.Unauthorized, fmt.Sprintf("read age identity %d of %d", i+1, len(o.Identities)),
				"it holds no age identity (AGE-SECRET-KEY-1…), or more than that")
		}
		d.identities = append(d.identities, all...)
	}
	return d, nil
}

// Keyless returns a Decrypter that refuses every encrypted file.
func Keyless() *Decrypter { return &Decrypter{limits: documents.DefaultLimits()} }

// redacted replaces a value that is not decrypted. It is valid base64, as data of a Secret
// must be.
const redacted = "REDACTED"

// mark is in every encrypted file: its authentication code begins so.
const mark = "ENC[AES256_GCM,"

// Decrypt returns the plain content of the file called name, and the values in it that were
// encrypted. A file that is not encrypted is returned unchanged. The error is a
// *documents.Refusal without values, or that of ctx.
func (d *Decrypter) Decrypt(ctx context.Context, name string, data []byte) (plain []byte, values []string, err error) {
	if !bytes.Contains(data, []byte(mark)) {
		return data, nil, nil
	}
	if path.Ext(name) == ".env" {
		return d.dotenv(ctx, name, data)
	}
	f, err := documents.Parse(data, d.limits)
	if err != nil || !slices.ContainsFunc(f.Documents, func(n *yaml.Node) bool { return metadataOf(n) != nil }) {
		return data, nil, nil // the next reader reports the error
	}
	var m metadata
	for i, doc := range f.Documents {
		n := metadataOf(doc)
		if n == nil {
			return nil, nil, &documents.Refusal{Line: doc.Line, Message: "the file is encrypted, and this document of it is not", Hint: "keep it in a file of its own"}
		}
		if i == 0 {
			if err := n.Decode(&m); err != nil {
				return nil, nil, &documents.Refusal{Line: n.Line, Message: "the sops metadata cannot be read", Hint: damagedHint}
			}
		}
		documents.Remove(doc, "sops")
	}
	binary := isBinary(name, data, f.Documents)
	w, err := d.open(ctx, name, &m, f.Documents, !binary && areSecrets(f.Documents))
	if err != nil {
		return nil, nil, err
	}
	for _, doc := range f.Documents {
		if err := w.walk(doc, nil, ""); err != nil {
			return nil, nil, err
		}
	}
	if err := w.verify(&m); err != nil {
		return nil, nil, err
	}
	if err := onlySecrets(f.Documents); err != nil {
		return nil, nil, err
	}
	plain, err = written(name, f.Documents, binary)
	return plain, w.values, err
}

// Due reports whether a file that the program could not decrypt may be decrypted now.
func (d *Decrypter) Due() bool { return d.program != nil && d.program.due() }

const damagedHint = "restore the file, or encrypt it again with sops"

// metadataOf returns sops' metadata in the document n; nil where n is not encrypted.
func metadataOf(n *yaml.Node) *yaml.Node {
	if m := documents.Child(n, "sops"); m != nil && documents.Child(m, "mac") != nil {
		return m
	}
	return nil
}

// onlySecrets refuses manifests other than Secrets.
func onlySecrets(docs []*yaml.Node) error {
	for _, doc := range docs {
		kind := documents.Child(doc, "kind")
		if kind == nil || isSecret(doc) {
			continue
		}
		return &documents.Refusal{
			Line:    doc.Line,
			Message: "the file is encrypted and holds more than Secrets, whose values would show in plans and status",
			Hint:    "put what is secret into a Secret, and refer to it",
		}
	}
	return nil
}

// isSecret reports whether n is a Secret. An encrypted kind is not known until it is
// decrypted.
func isSecret(n *yaml.Node) bool {
	kind, version := documents.Child(n, "kind"), documents.Child(n, "apiVersion")
	return kind != nil && kind.Value == "Secret" && version != nil && version.Value == "v1"
}

func areSecrets(docs []*yaml.Node) bool {
	return !slices.ContainsFunc(docs, func(n *yaml.Node) bool { return !isSecret(n) })
}

// isBinary reports whether the content is the envelope of a file that is neither YAML nor
// JSON: a JSON object with nothing but data.
func isBinary(name string, data []byte, docs []*yaml.Node) bool {
	if path.Ext(name) == ".json" || len(docs) != 1 || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return false
	}
	c := docs[0].Content
	return len(c) == 2 && c[0].Value == "data" && c[1].Kind == yaml.ScalarNode
}

// written returns docs in the format of the file called name.
func written(name string, docs []*yaml.Node, binary bool) ([]byte, error) {
	if binary {
		return []byte(documents.Child(docs[0], "data").Value), nil
	}
	if path.Ext(name) != ".json" {
		data, err := documents.Marshal(docs)
		if err != nil {
			return nil, &documents.Refusal{Message: "the decrypted content cannot be written as YAML"}
		}
		return data, nil
	}
	var out []byte
	for _, doc := range docs {
		data, err := documents.JSON(doc)
		if err != nil {
			return nil, &documents.Refusal{Message: "the decrypted content cannot be written as JSON"}
		}
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", "  "); err != nil {
			return nil, &documents.Refusal{Message: "the decrypted content cannot be written as JSON"}
		}
		out = append(append(out, b.Bytes()...), '\n')
	}
	return out, nil
}

// list returns names for people.
func list(names []string) string { return strings.Join(names, ", ") }
