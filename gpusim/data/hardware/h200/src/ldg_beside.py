"""Moves the load of each kernel of ldg_beside.cubin behind its j-th tensor instruction: ldg_beside.py CUOBJDUMP OUT -> OUT/KIND_J.cubin and .sass."""
import struct, subprocess, sys
from pathlib import Path
TOOL, OUT = sys.argv[1], Path(sys.argv[2]); OUT.mkdir(exist_ok=True)
LOADS = {0: 0x981, 1: 0x981, 3: 0x984, 4: 0x83b}
def nop(word):
    low, high = struct.unpack("<QQ", word); return struct.pack("<QQ", 0x0000000000007918, high & ((1 << 58) - (1 << 41)))
data = Path("ldg_beside.cubin").read_bytes()
at, = struct.unpack_from("<Q", data, 0x28); size, count, names = struct.unpack_from("<HHH", data, 0x3A)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
start = sections[names][4]
def named(section): return data[start + section[0]:data.index(b"\0", start + section[0])].decode()
def stall(word, cycles):
    low, high = struct.unpack("<QQ", word); return struct.pack("<QQ", low, high & ~(0xF << 41) | cycles << 41)
for kind, opcode in LOADS.items():
    section, = [s for s in sections if named(s).startswith(".text") and f"loadILi{kind}E" in named(s)]
    code = [data[section[4] + i:section[4] + i + 16] for i in range(0, section[5], 16)]
    op = lambda word: struct.unpack("<Q", word[:8])[0] & 0xFFF
    tensor = [i for i, word in enumerate(code) if op(word) == 0x23C]
    loads = [i for i, word in enumerate(code) if op(word) == opcode and tensor[0] - 3 < i <= tensor[-1]]
    assert len(loads) == 1 and len(tensor) == 32
    load = code.pop(loads[0])
    tensor = [i for i, word in enumerate(code) if op(word) == 0x23C]
    for j, quiet in [(j, q) for j in (0, 1, 2, 3, 4, 8, 16, 24, 31, 32) for q in (0, 1)]:
        new = list(code)
        if j: new[tensor[j - 1]] = stall(new[tensor[j - 1]], 1); new.insert(tensor[j - 1] + 1, stall(load, 5))
        else: new.insert(tensor[0], stall(load, 1))
        if quiet: new = [nop(word) if op(word) == 0x23C else word for word in new]
        out = bytearray(data); out[section[4]:section[4] + section[5]] = b"".join(new)
        file = OUT / f"{kind}_{j + 100 * quiet}.cubin"; file.write_bytes(out)
        text = subprocess.run([TOOL, "-sass", str(file)], capture_output=True, text=True, check=True).stdout
        function, = [part for part in text.split("Function : ")[1:] if f"loadILi{kind}E" in part.split("\n", 1)[0]]
        file.with_suffix(".sass").write_text("Function : " + function)
