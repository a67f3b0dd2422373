package tree

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkName refuses names that a filesystem may interpret: the rules of git fsck for all
// platforms.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case name == "." || name == "..":
		return errors.New("the name is a way out of the folder")
	case !utf8.ValidString(name):
		return errors.New("the name is not UTF-8")
	case strings.ContainsAny(name, "/\\"):
		return errors.New("the name has a path separator in it")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the name has a control character in it")
	case isDotGit(name):
		return errors.New("the name stands for a Git directory")
	}
	return nil
}

// isDotGit reports whether a filesystem takes name for ".git": most ignore case, NTFS drops
// trailing dots, spaces and streams and has short names, HFS+ ignores characters without
// width.
func isDotGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}
