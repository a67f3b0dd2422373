package hostile

import (
	"fmt"
	"strings"
	"testing"
)

// ofTrees are the rows of what a repository holds.
func ofTrees() []row {
	named := func(name, want string) content {
		return content{func(p *pile) id { return p.commit(entry("100644", name, p.add(packBlob, "x"))) }, "", want}
	}
	link := func(target, want string) content {
		return content{func(p *pile) id { return p.commit(entry("120000", "l", p.add(packBlob, target))) }, "l", want}
	}
	const none = id("0123456789abcdefghij")
	rows := make([]row, 0, 40)
	for name, c := range map[string]content{
		"a way out":                  named("..", "a way out of the folder"),
		"the folder itself":          named(".", "a way out of the folder"),
		".git":                       named(".git", "stands for a Git directory"),
		".GIT":                       named(".GIT", "stands for a Git directory"),
		"git~1":                      named("git~1", "stands for a Git directory"),
		".git as HFS+ reads it":      named(".g\u200cit", "stands for a Git directory"),
		".git as a stream of NTFS":   named(".git::$INDEX_ALLOCATION", "stands for a Git directory"),
		"a path as a name":           named("a/b", "path separator"),
		"a path of Windows":          named(`..\..\x`, "path separator"),
		"no name":                    named("", "cannot be read"),
		"a name that moves a screen": named("a\x1b[2J", "control character"),
		"a name of two lines":        named("a\nb", "control character"),
		"a Latin-1 name":             named("caf\xe9", "not UTF-8"),
		"a name of 1 MiB":            named(strings.Repeat("f", 1<<20), "a name of more than 4096 bytes"),
		"two files of one name": {func(p *pile) id {
			return p.commit(entry("100644", "a", p.add(packBlob, "1")), entry("100644", "a", p.add(packBlob, "2")))
		}, "", "2 entries of this name"},
		"a file and a folder of one name": {func(p *pile) id {
			return p.commit(entry("100644", "a", p.add(packBlob, "1")), entry("40000", "a", p.add(packTree, "")))
		}, "", "2 entries of this name"},
		"half a million entries": {func(p *pile) id {
			b := p.add(packBlob, "x")
			var all strings.Builder
			for i := range 500_000 {
				all.WriteString(entry("100644", fmt.Sprint(i), b))
			}
			return p.commit(all.String())
		}, "", "more than 100000 entries"},
		"2 million entries without names": {func(p *pile) id {
			return p.commit(strings.Repeat(entry("1", "", id(strings.Repeat("x", 20))), 2_000_000))
		}, "", "more than 100000 entries"},
		"10,000 folders deep": {func(p *pile) id {
			f := p.add(packTree, entry("100644", "f", p.add(packBlob, "x")))
			for range 10_000 {
				f = p.add(packTree, entry("40000", "d", f))
			}
			return p.commit(entry("40000", "d", f))
		}, "", "more than 32 folders deep"},
		"a file of 17 MiB": {func(p *pile) id {
			return p.commit(entry("100644", "big.bin", p.add(packBlob, strings.Repeat("x", 17<<20))))
		}, "", `"big.bin" in .: it has 17825792 bytes`},
		"a tree that ends within a name": {func(p *pile) id { return p.commit("100644 abc") }, "", "cannot be read"},
		"a tree that ends within a hash": {func(p *pile) id { return p.commit("100644 abc\x00xyz") }, "", "cannot be read"},
		"a mode that is no number":       {func(p *pile) id { return p.commit(entry("rwxr-xr-x", "a", p.add(packBlob, "x"))) }, "", "cannot be read"},
		"a mode without end": {func(p *pile) id {
			return p.commit(entry(strings.Repeat("7", 3000), "a", p.add(packBlob, "x")))
		}, "", "cannot be read"},
		"a file as a folder":       {func(p *pile) id { return p.commit(entry("40000", "d", p.add(packBlob, "x"))) }, "", "cannot be read"},
		"a folder as a file":       {func(p *pile) id { return p.commit(entry("100644", "f", p.add(packTree, ""))) }, "", "is not in the repository"},
		"a folder that nobody has": {func(p *pile) id { return p.commit(entry("40000", "d", none)) }, "", "is not in the repository"},
		"a file that nobody has":   {func(p *pile) id { return p.commit(entry("100644", "f", none)) }, "", "is not in the repository"},
		"a commit of a commit": {func(p *pile) id {
			return p.add(packCommit, commitOf(p.commit(entry("100644", "a", p.add(packBlob, "x")))))
		}, "", "cannot be read"},
		"a commit of nothing":  {func(p *pile) id { return p.add(packCommit, commitOf(none)) }, "", "is not in the repository"},
		"a commit of noise":    {func(p *pile) id { return p.add(packCommit, strings.Repeat("noise ", 150_000)) }, "", "cannot be read"},
		"a blob as the commit": {func(p *pile) id { return p.add(packBlob, "x") }, "", "cannot be read"},
		"a commit of 48 MB": {func(p *pile) id {
			c := commitOf(p.add(packTree, entry("100644", "..", p.add(packBlob, "x"))))
			tree, rest, _ := strings.Cut(c, "\n")
			return p.add(packCommit, tree+"\n"+strings.Repeat("parent "+none.String()+"\n", 1_000_000)+rest)
		}, "", "a commit has 48000136 bytes"},
		"a commit with 20,000 parents": {func(p *pile) id {
			c := commitOf(p.add(packTree, entry("100644", "..", p.add(packBlob, "x"))))
			tree, rest, _ := strings.Cut(c, "\n")
			return p.add(packCommit, tree+"\n"+strings.Repeat("parent "+none.String()+"\n", 20_000)+rest)
		}, "", "a way out of the folder"},
		"a tag of 12 tags": {func(p *pile) id {
			tag := func(of id, kind string) id {
				return p.add(packTag, "object "+of.String()+"\ntype "+kind+"\ntag x\ntagger a <a@example.com> 1700000000 +0000\n\nx\n")
			}
			at := tag(p.commit(entry("100644", "a", p.add(packBlob, "x"))), "commit")
			for range 11 {
				at = tag(at, "tag")
			}
			return at
		}, "", "a tag of tags, more than 10 deep"},
		"a submodule":              {func(p *pile) id { return p.commit(entry("160000", "sub", none)) }, "sub", "submodule"},
		"a link out":               link("../../etc/passwd", "points out of the repository"),
		"a link to the root":       link("/etc/passwd", "only relative links"),
		"a link to itself":         link("l", "leads in a circle"),
		"a link of 10 MB":          link(strings.Repeat("a/../", 2_000_000), "has a target of"),
		"a link of 4 KB to itself": link(strings.Repeat("./", 2000)+"l", "leads in a circle"),
	} {
		rows = append(rows, row{"tree", name, c.want, func(t *testing.T) ([]string, bool) {
			var p pile
			tip := c.make(&p)
			err, others := followed(t, &repository{tip: tip, pack: p.pack()}, c.file)
			return one(err), others
		}})
	}
	return rows
}
