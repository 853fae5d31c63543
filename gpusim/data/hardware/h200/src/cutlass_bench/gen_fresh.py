"""Writes k_fresh*.cu: the CUTLASS kernels of kernels_fresh.csv, with what gen.py defines."""
from pathlib import Path
exec((Path(__file__).parent / "gen.py").read_text().split("G = {}")[0])
G={}
G["1"]=[plain(H,(64,64,64),(32,32,64),3,"tt"), plain(H,(256,64,32),(64,64,32),2,"tn"), plain(H,(128,128,32),(64,64,32),6,"nn"), plain(H,(256,128,32),(64,64,32),4,"nt")]
G["2"]=[plain(H,(64,128,32),(32,64,32),2,"nn"), plain(H,(128,64,64),(64,32,64),2,"tt"), plain(BF,(128,128,64),(64,64,64),3,"nt"), plain(HH,(128,128,32),(64,64,32),4,"nt")]
G["3"]=[plain(TF,(128,64,16),(64,32,16),5,"tn"), plain(TF,(128,128,32),(64,64,32),3,"nn"), plain(S8,(64,64,64),(32,32,64),5,"tn"), plain(S8,(128,128,128),(64,64,128),3,"tn")]
G["4"]=[plain(SI,(128,128,8),(32,64,8),3,"nn"), plain(SI,(256,64,8),(64,32,8),2,"nt"), plain(SI,(64,64,8),(32,32,8),2,"tt"), plain(H75,(128,128,32),(64,64,32),2,"nt")]
G["5"]=[special("PARALLEL",H,(64,64,64),(32,32,64),4,"tn","_splitkparallel",3), special("SERIAL",H,(64,128,32),(32,64,32),4,"nt","_splitkserial",2), special("STREAMK",H,(128,64,32),(64,32,32),4,"tn","_streamk"), plain(H,(128,128,64),(64,64,32),4,"nt")]
for g, lines in G.items():
    open(f"k_fresh{g}.cu","w").write('#include "bench.h"\n' + "\n".join(lines) + "\n")
