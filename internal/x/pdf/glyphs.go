package pdf

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// glyphNames are the names of the glyphs of Latin text, and some of Greek and
// mathematics, as in Adobe's glyph list.
var glyphNames = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for f := range strings.FieldsSeq(glyphList) {
		r, n := utf8.DecodeRuneInString(f)
		out[f[n:]] = string(r)
	}
	out["space"], out["nbspace"], out["hyphen"], out["sfthyphen"] = " ", "\u00a0", "-", "\u00ad"
	for k, v := range map[string]string{"ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl"} {
		out[k] = v
	}
	return out
})

const glyphList = `
!exclam "quotedbl #numbersign $dollar %percent &ampersand 'quotesingle (parenleft )parenright *asterisk +plus ,comma
.period /slash 0zero 1one 2two 3three 4four 5five 6six 7seven 8eight 9nine :colon ;semicolon <less =equal >greater
?question @at [bracketleft \backslash ]bracketright ^asciicircum _underscore ` + "`" + `grave {braceleft |bar }braceright ~asciitilde
¡exclamdown ¢cent £sterling ¤currency ¥yen ¦brokenbar §section ¨dieresis ©copyright ªordfeminine «guillemotleft ¬logicalnot
®registered ¯macron °degree ±plusminus ²twosuperior ³threesuperior ´acute µmu µmu1 ¶paragraph ·periodcentered ·middot ¸cedilla
¹onesuperior ºordmasculine »guillemotright ¼onequarter ½onehalf ¾threequarters ¿questiondown
ÀAgrave ÁAacute ÂAcircumflex ÃAtilde ÄAdieresis ÅAring ÆAE ÇCcedilla ÈEgrave ÉEacute ÊEcircumflex ËEdieresis
ÌIgrave ÍIacute ÎIcircumflex ÏIdieresis ÐEth ÑNtilde ÒOgrave ÓOacute ÔOcircumflex ÕOtilde ÖOdieresis ×multiply
ØOslash ÙUgrave ÚUacute ÛUcircumflex ÜUdieresis ÝYacute ÞThorn ßgermandbls
àagrave áaacute âacircumflex ãatilde äadieresis åaring æae çccedilla èegrave éeacute êecircumflex ëedieresis
ìigrave íiacute îicircumflex ïidieresis ðeth ñntilde òograve óoacute ôocircumflex õotilde öodieresis ÷divide
øoslash ùugrave úuacute ûucircumflex üudieresis ýyacute þthorn ÿydieresis
ĀAmacron āamacron ĂAbreve ăabreve ĄAogonek ąaogonek ĆCacute ćcacute ČCcaron čccaron ĎDcaron ďdcaron ĐDcroat đdcroat
ĒEmacron ēemacron ĖEdotaccent ėedotaccent ĘEogonek ęeogonek ĚEcaron ěecaron ĞGbreve ğgbreve ĪImacron īimacron İIdotaccent ıdotlessi
ĹLacute ĺlacute ĽLcaron ľlcaron ŁLslash łlslash ŃNacute ńnacute ŇNcaron ňncaron ŌOmacron ōomacron ŐOhungarumlaut őohungarumlaut
ŒOE œoe ŔRacute ŕracute ŘRcaron řrcaron ŚSacute śsacute ŞScedilla şscedilla ŠScaron šscaron ŤTcaron ťtcaron ŪUmacron ūumacron
ŮUring ůuring ŰUhungarumlaut űuhungarumlaut ŸYdieresis ŹZacute źzacute ŻZdotaccent żzdotaccent ŽZcaron žzcaron ƒflorin
ˆcircumflex ˇcaron ˘breve ˙dotaccent ˚ring ˛ogonek ˜tilde ˝hungarumlaut –endash —emdash ‘quoteleft ’quoteright ‚quotesinglbase
“quotedblleft ”quotedblright „quotedblbase †dagger ‡daggerdbl •bullet …ellipsis ‰perthousand ‹guilsinglleft ›guilsinglright
⁄fraction €Euro €euro ™trademark −minus ×multiply √radical ∞infinity ∫integral ≈approxequal ≠notequal ≤lessequal ≥greaterequal
∂partialdiff ∆increment ∏product ∑summation ◊lozenge ←arrowleft ↑arrowup →arrowright ↓arrowdown ↔arrowboth ⇒arrowdblright
∀universal ∃existential ∅emptyset ∈element ∉notelement ∧logicaland ∨logicalor ∩intersection ∪union ⊂propersubset ⊆reflexsubset
≡equivalence ∼similar ∇gradient ⋅dotmath ′minute ″second
αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta ιiota κkappa λlambda νnu ξxi οomicron πpi ρrho σsigma ςsigma1 τtau
υupsilon φphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma ΥUpsilon ΦPhi ΨPsi ΩOmega
`
