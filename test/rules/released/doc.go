// Package released holds what machines of released versions were made of, which no
// later version may see otherwise: it would replace every machine there is.
package released
