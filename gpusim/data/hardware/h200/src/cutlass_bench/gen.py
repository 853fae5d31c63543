"""Writes k*.cu: the kernels, by group."""
def name(p, t, w, s, l, suffix=""): return f"{p}_{'x'.join(map(str,t))}_w{'x'.join(map(str,w))}_s{s}_{l}{suffix}"
def cfg(ea, ec, acc, l, t, w, i, s, extra=""):
    sh = lambda x: "SHAPE(%d, %d, %d)" % x
    return f"CONFIG({ea}, {ec}, {acc}, {l.upper()}, {sh(t)}, {sh(w)}, {sh(i)}, {s}{extra})"
H=("h","F16","F16","float",(16,8,16)); HH=("hh","F16","F16","F16",(16,8,16)); BF=("bf","BF16","BF16","float",(16,8,16))
TF=("tf32","TF32","float","float",(16,8,8)); S8=("s8","int8_t","int32_t","int32_t",(16,8,32))
H75=("h","F16","F16","float",(16,8,8)); SI=("simt","float","float","float",(1,1,1))
def plain(k, t, w, s, l, fam=None, suffix=""):
    p, ea, ec, acc, i = k
    fam = fam or ("pipelined" if s==2 else "multistage")
    extra = ", cutlass::arch::Sm75" if k is H75 else ""
    if k is SI:
        extra = ", cutlass::arch::Sm80, bench::Simt"; fam = "simt_" + fam
    if w[2] != t[2] and t[0]*t[1] <= 64*64: extra = ", cutlass::arch::Sm80, bench::TensorOp, 4"
    if w[2] != t[2]: fam += "_slicedk"; suffix += "_slicedk"
    if k is H75: suffix += "_sm75"
    return f'PLAIN("{name(p,t,w,s,l,suffix)}", "{fam}", {cfg(ea,ec,acc,l,t,w,i,s,extra)})'
def special(macro, k, t, w, s, l, suffix, *args):
    p, ea, ec, acc, i = k
    a = "".join(f", {x}" for x in args)
    return f'{macro}("{name(p,t,w,s,l,suffix)}"{a}, {cfg(ea,ec,acc,l,t,w,i,s)})'
G = {}
G["pipe"] = [plain(H,(128,128,32),(64,64,32),2,l) for l in ("tn","nt","nn","tt")] + [
  plain(H,(64,64,32),(32,32,32),2,"tn"), plain(H,(128,64,32),(64,32,32),2,"tn"), plain(H,(256,128,32),(64,64,32),2,"tn"),
  plain(HH,(128,128,32),(64,64,32),2,"tn")]
G["turing"] = [plain(H75,(128,128,32),(64,64,32),2,"tn"), plain(H75,(64,64,32),(32,32,32),2,"tn"), plain(H75,(128,64,32),(64,32,32),2,"nt"),
  plain(TF,(128,128,16),(64,64,16),2,"tn"), plain(S8,(128,128,64),(64,64,64),2,"tn"), plain(BF,(128,128,32),(64,64,32),2,"tn")]
G["multi1"] = [plain(H,(128,128,32),(64,64,32),s,l) for s,l in ((3,"tn"),(4,"tn"),(5,"tn"),(4,"nt"),(4,"nn"),(4,"tt"))] 
G["multi2"] = [plain(H,(128,256,32),(64,64,32),3,"tn"), plain(H,(256,128,32),(64,64,32),3,"tn"), plain(H,(64,64,64),(32,32,64),5,"tn"),
  plain(H,(128,64,32),(64,32,32),4,"tn"), plain(H,(64,128,32),(32,64,32),4,"tn"), plain(H,(128,128,64),(64,64,64),3,"tn"),
  plain(H,(64,64,32),(32,32,32),6,"tn"), plain(H,(128,64,64),(64,32,64),4,"nt")]
G["types"] = [plain(HH,(128,128,32),(64,64,32),4,"tn"), plain(BF,(128,128,32),(64,64,32),4,"tn"), plain(TF,(128,128,16),(64,64,16),4,"tn"),
  plain(S8,(128,128,64),(64,64,64),3,"tn"), plain(TF,(64,64,32),(32,32,32),4,"tn"), plain(HH,(256,128,32),(64,64,32),3,"nt")]
G["split"] = [special("SERIAL",H,(128,128,32),(64,64,32),4,"tn","_splitkserial",4), special("PARALLEL",H,(128,128,32),(64,64,32),4,"tn","_splitkparallel",4),
  special("STREAMK",H,(128,128,32),(64,64,32),4,"tn","_streamk"), special("BATCHED",H,(128,128,32),(64,64,32),4,"tn","_batched",4),
  plain(H,(64,64,64),(32,32,32),4,"tn"), plain(H,(64,64,64),(64,32,32),4,"tn"), plain(H,(128,128,64),(64,64,32),3,"tn"),
  'SWIZZLED("h_128x128x32_w64x64x32_s4_tn_swz8", "multistage", 8, 3, %s)' % cfg("F16","F16","float","tn",(128,128,32),(64,64,32),(16,8,16),4)]
G["simt"] = [plain(SI,(128,128,8),(32,64,8),2,l) for l in ("nt","nn","tn","tt")] + [plain(SI,(64,64,8),(32,32,8),2,"nt"), plain(SI,(128,64,8),(64,32,8),2,"nn")]
G["simt4"] = [plain(SI,(128,128,8),(32,64,8),4,l) for l in ("nt","nn","tn")] + [plain(SI,(64,64,8),(32,32,8),3,"tn"), plain(SI,(256,128,8),(64,64,8),4,"nt")]
for g, lines in G.items():
    open(f"k_{g}.cu","w").write('#include "bench.h"\n' + "\n".join(lines) + "\n")
