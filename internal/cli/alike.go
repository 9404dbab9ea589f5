package cli

import "strings"

// signLike reports whether c looks like a sign of ASCII, or is a letter or
// digit of a font of its own: shells give it no meaning, and readers do.
func signLike(c rune) bool {
	switch {
	case c >= 0xFF01 && c <= 0xFF5E, c >= 0xFE50 && c <= 0xFE6B, c >= 0x1D400 && c <= 0x1D7FF: // wide, small, mathematical
		return true
	case c >= 0x2010 && c <= 0x2015, c >= 0x2018 && c <= 0x201F, c >= 0x2032 && c <= 0x2037: // dashes, quotes, primes
		return true
	}
	return strings.ContainsRune(signsLike, c)
}

// By the sign that they look like: quotes, `, ;, :, ., ,, /, \, |, !, ?, -, ~, <, >, *, #, &, $ and brackets.
const signsLike = "\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02c8\u02ee\u05f3\u05f4\u07f4\u07f5\u2039\u203a" +
	"\u02cb\u1fef\u02f4\u037e\u02d0\u02f8\u05c3\u2236\ua789\u2024\u06d4\u201a\u066b\u02cc\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9" +
	"\u2223\u01c0\u23d0\u2758\u01c3\u2d51\u0241\u0294\u02d7\u2212\u2796\u2043\u02dc\u223c\u2053\u02c2\u02c3\u276e\u276f\u16b2\u2217\u204e\u066d" +
	"\u2768\u2769\u2772\u2773\u2774\u2775\u2983\u2984"

// letterLike reports whether c is a letter of another script, or another form,
// that looks like a letter of ASCII.
func letterLike(c rune) bool {
	switch {
	case c >= 0x2100 && c <= 0x214F, c >= 0x2160 && c <= 0x217F, c >= 0x1D00 && c <= 0x1D22: // letter-like, Roman, small capitals
		return true
	}
	return strings.ContainsRune(lettersLike, c)
}

const lettersLike = "аеорсухіјѕԁһԛԝӏАВЕЅІЈКМНОРСТУХԌԚԜ" + // Cyrillic
	"αινορυωκχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳϹ" + // Greek
	"օոսցքհՍՏՕ" + // Armenian
	"ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏂᏃᏔᏙᏚᏞᏟᏢᏦᏴ" + // Cherokee
	"ıɑɡɩʟɪʀʏɴɢʜʙ" // Latin
