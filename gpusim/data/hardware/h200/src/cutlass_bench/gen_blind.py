"""Writes k*.cu: the kernels of kernels_blind.csv, with what gen.py defines."""
from pathlib import Path
exec((Path(__file__).parent / "gen.py").read_text().split("G = {}")[0])
G={}
G["a"]=[plain(H,(256,64,32),(64,64,32),4,"tn"), plain(H,(64,256,32),(64,64,32),4,"nt"), plain(H,(128,64,64),(64,32,64),3,"tn")]
G["b"]=[plain(H,(64,128,64),(32,64,64),3,"nn"), plain(H,(256,128,64),(64,64,64),3,"tn")]
G["c"]=[plain(H,(64,64,32),(32,32,32),10,"tt"), plain(BF,(256,128,32),(64,64,32),3,"tn"), plain(BF,(64,64,64),(32,32,64),5,"nt")]
G["d"]=[plain(BF,(128,64,32),(64,32,32),6,"nn"), plain(TF,(256,128,16),(64,64,16),3,"tn"), plain(TF,(64,128,16),(32,64,16),6,"nt")]
G["e"]=[plain(S8,(128,64,64),(64,32,64),6,"tn"), plain(S8,(256,128,64),(64,64,64),3,"tn"), plain(HH,(64,64,64),(32,32,64),5,"tn")]
G["f"]=[plain(HH,(128,256,32),(64,64,32),3,"nn"), plain(BF,(64,128,32),(32,64,32),2,"tn"), plain(TF,(64,64,16),(32,32,16),2,"tn")]
G["g"]=[plain(SI,(64,128,8),(32,64,8),2,"tn"), plain(SI,(128,64,8),(64,32,8),4,"nt"), special("SERIAL",H,(128,64,32),(64,32,32),4,"tn","_splitkserial",3)]
for g, lines in G.items():
    open(f"k_{g}.cu","w").write('#include "bench.h"\n' + "\n".join(lines) + "\n")
