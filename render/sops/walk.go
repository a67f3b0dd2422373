package sops

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// A walker decrypts the values of one file in their order, which the authentication code
// depends on.
type walker struct {
	encrypted rule
	key       []byte // nil: values are replaced by REDACTED
	macOnly   bool
	mac       hash.Hash
	values    []string // decrypted values
	redact    bool     // decrypted values are replaced by REDACTED
	// given are the values that the program decrypted, by node; nil: key decrypts.
	given map[*yaml.Node]decrypted
}

// A decrypted value, with sops' name of its type.
type decrypted struct{ value, kind string }

// macOnlyStart begins authentication codes over encrypted values only. It is the SHA-256 of
// "sops".
const macOnlyStart = "\x8a\x3f\xd2\xad\x54\xce\x66\x52\x7b\x10\x34\xf3\xd1\x47\xbe\x0b\x0b\x97\x5b\x3b\xf4\x4f\x72\xc6\xfd\xad\xec\x81\x76\xf2\x7d\x69"

// open returns a walker for docs, the content of the file called name. Only files of
// Secrets may be sealed.
func (d *Decrypter) open(ctx context.Context, name string, m *metadata, docs []*yaml.Node, secrets bool) (*walker, error) {
	rule, err := m.rule()
	if err != nil {
		return nil, err
	}
	w := &walker{encrypted: rule, macOnly: m.MACOnly, mac: sha512.New(), redact: d.redact}
	if m.MACOnly {
		w.mac.Write([]byte(macOnlyStart))
	}
	w.key, err = d.dataKey(m)
	if err != nil && d.program != nil && m.hasOthers() && len(m.KeyGroups) == 0 {
		w.given, err = d.ask(ctx, m, docs)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err != nil && d.options.Sealed != nil && secrets {
		d.options.Sealed(name, err.Error())
		return w, nil
	}
	return w, err
}

// ask lets the program decrypt docs, and returns the values that were encrypted. Everything
// else that it prints is ignored.
func (d *Decrypter) ask(ctx context.Context, m *metadata, docs []*yaml.Node) (map[*yaml.Node]decrypted, error) {
	plain, err := d.program.decrypt(ctx, m, docs)
	if err != nil {
		return nil, err
	}
	given := make(map[*yaml.Node]decrypted)
	for i, doc := range docs {
		if !match(doc, plain[i], given) {
			return nil, strange()
		}
	}
	return given, nil
}

// match adds the values in plain, the decrypted n, to given. It reports whether plain has
// the structure of n.
func match(n, plain *yaml.Node, given map[*yaml.Node]decrypted) bool {
	if n.Kind != plain.Kind {
		return false
	}
	if n.Kind == yaml.ScalarNode {
		m := value.FindStringSubmatch(n.Value)
		if m == nil {
			return true
		}
		d, ok := decrypted{plain.Value, m[4]}, tags()[m[4]] == plain.ShortTag()
		if m[4] == "float" { // 1.0 may be printed as 1, and large numbers with an exponent
			f, err := strconv.ParseFloat(plain.Value, 64)
			d.value, ok = strconv.FormatFloat(f, 'f', -1, 64), err == nil
		}
		if plain.ShortTag() == "!!binary" {
			b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(plain.Value), ""))
			d.value, ok = string(b), err == nil && tags()[m[4]] == "!!str"
		}
		given[n] = d
		return ok
	}
	of := slices.DeleteFunc(slices.Clone(n.Content), isComment)
	if len(of) != len(plain.Content) {
		return false
	}
	for i, c := range of {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Value != plain.Content[i].Value {
				return false
			}
			continue
		}
		if !match(c, plain.Content[i], given) {
			return false
		}
	}
	return true
}

// isComment reports whether the item n of a list was a comment in an old version of sops.
func isComment(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, mark) && strings.HasSuffix(n.Value, ",type:comment]")
}

// walk decrypts n at the path keys; field is that path for messages.
func (w *walker) walk(n *yaml.Node, keys []string, field string) error {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			key.HeadComment, key.LineComment, key.FootComment = "", "", ""
			at := strings.TrimPrefix(field+"."+key.Value, ".")
			if err := w.walk(n.Content[i+1], append(slices.Clone(keys), key.Value), at); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		n.Content = slices.DeleteFunc(n.Content, isComment)
		for i, c := range n.Content {
			if err := w.walk(c, keys, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		return w.scalar(n, keys, field)
	}
	return nil
}

func (w *walker) scalar(n *yaml.Node, keys []string, field string) error {
	if n.ShortTag() == "!!null" {
		return nil
	}
	encrypted := w.encrypted(keys)
	if encrypted && n.Value != "" {
		if n.ShortTag() != "!!str" || !strings.HasPrefix(n.Value, mark) {
			return &documents.Refusal{Line: n.Line, Message: field + " is not encrypted and should be: it was added after the file was encrypted", Hint: "edit the file with sops"}
		}
		if w.key == nil && w.given == nil {
			set(n, "!!str", redacted)
			return nil
		}
		value, kind, err := w.decrypt(n, keys)
		if err != nil {
			return &documents.Refusal{Line: n.Line, Message: field + " cannot be decrypted: " + err.Error(), Hint: damagedHint}
		}
		tag, ok := tags()[kind]
		if !ok {
			return &documents.Refusal{Line: n.Line, Message: fmt.Sprintf("%s cannot be decrypted: it is of type %q, which is not known", field, kind), Hint: damagedHint}
		}
		w.values = append(w.values, value)
		w.mac.Write([]byte(value))
		if w.redact {
			set(n, "!!str", redacted)
			return nil
		}
		if kind == "bool" {
			value = strings.ToLower(value)
		}
		set(n, tag, value)
		return nil
	}
	if !encrypted && w.macOnly {
		return nil
	}
	text, err := plain(n)
	if err != nil {
		return &documents.Refusal{Line: n.Line, Message: field + " has a value that sops does not write", Hint: damagedHint}
	}
	w.mac.Write(text)
	return nil
}

// decrypt returns the value of n at the path keys, and the name of its type.
func (w *walker) decrypt(n *yaml.Node, keys []string) (plain, kind string, err error) {
	if w.given == nil {
		return decrypt(n.Value, w.key, strings.Join(keys, ":")+":")
	}
	d, ok := w.given[n]
	if !ok {
		return "", "", errors.New("it is not written as sops does")
	}
	return d.value, d.kind, nil
}

// tags are those of the types of values that sops knows, by its names.
func tags() map[string]string {
	return map[string]string{"str": "!!str", "bytes": "!!str", "int": "!!int", "float": "!!float", "bool": "!!bool", "time": "!!timestamp"}
}

// set makes n a scalar of value.
func set(n *yaml.Node, tag, value string) {
	n.Tag, n.Value, n.Style = tag, value, 0
	if tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle // the one that holds any text unchanged
	}
}

// plain returns the bytes that a plain value adds to the authentication code.
func plain(n *yaml.Node) ([]byte, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case int:
		return []byte(strconv.Itoa(v)), nil
	case float64:
		return []byte(strconv.FormatFloat(v, 'f', -1, 64)), nil
	case bool:
		if v {
			return []byte("True"), nil
		}
		return []byte("False"), nil
	case time.Time:
		return v.MarshalText()
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// verify compares the authentication code of the file with that of the walked values. The
// program verifies it itself.
func (w *walker) verify(m *metadata) error {
	if w.key == nil {
		return nil
	}
	changed := &documents.Refusal{Message: "the file was changed after it was encrypted: its authentication code does not fit", Hint: "edit it with sops, or restore it"}
	at, err := time.Parse(time.RFC3339, m.LastModified)
	if err != nil {
		return changed
	}
	code, _, err := decrypt(m.MAC, w.key, at.Format(time.RFC3339))
	if err != nil || code != fmt.Sprintf("%X", w.mac.Sum(nil)) {
		return changed
	}
	return nil
}

// value matches an encrypted value.
var value = regexp.MustCompile(`^ENC\[AES256_GCM,data:([^,]*),iv:([^,]+),tag:([^,]+),type:([a-z]+)\]$`)

// decrypt returns a value and the name of its type. bound is the additional data: the path
// of the value. The error has no content.
func decrypt(text string, key []byte, bound string) (plain, kind string, err error) {
	m := value.FindStringSubmatch(text)
	if m == nil {
		return "", "", errors.New("it is not written as sops does")
	}
	var parts [3][]byte
	for i := range parts {
		if parts[i], err = base64.StdEncoding.DecodeString(m[i+1]); err != nil {
			return "", "", errors.New("it is not written as sops does")
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", "", err
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(parts[1]))
	if err != nil {
		return "", "", errors.New("it is not written as sops does")
	}
	out, err := gcm.Open(nil, parts[1], append(parts[0], parts[2]...), []byte(bound))
	if err != nil {
		return "", "", errors.New("it was changed, or moved to another key, after it was encrypted")
	}
	return string(out), m[4], nil
}
