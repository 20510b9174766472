import { describe, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { HASH_BYTES, merkleLevels, merklePath, merkleRoot } from '#core/platform/merkle.ts'

/** Inputs and roots of the test of Certificate Transparency's reference implementation. */
const INPUTS = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

function leaves(count: number): Buffer {
  return Buffer.concat(INPUTS.slice(0, count).map((hex) => sha256(Buffer.from(`00${hex}`, 'hex'))))
}

describe('the Merkle tree is that of RFC 6962', () => {
  test.each(ROOTS.map((root, at) => [at + 1, root] as const))('with %i leaves', (count, root) => {
    expect(merkleRoot(leaves(count)).toString('hex')).toBe(root)
  })

  test('each level has half the nodes of the one below, rounded up', () => {
    expect(merkleLevels(leaves(7)).map((level) => level.length / HASH_BYTES)).toEqual([7, 4, 2, 1])
  })

  test('the inclusion proof of every leaf leads to the root', () => {
    for (let count = 1; count <= INPUTS.length; count += 1) {
      const levels = merkleLevels(leaves(count))
      for (let leaf = 0; leaf < count; leaf += 1) {
        const path = [...merklePath(levels, leaf)]
        let hash = leaves(count).subarray(leaf * HASH_BYTES, (leaf + 1) * HASH_BYTES)
        for (let [node, last] = [leaf, count - 1]; last > 0; node >>= 1, last >>= 1) {
          const beside = (node ^ 1) <= last ? path.shift() : undefined
          if (beside !== undefined)
            hash = sha256(Buffer.concat([Buffer.of(1), ...(node % 2 === 0 ? [hash, beside] : [beside, hash])]))
        }
        expect([hash.toString('hex'), path]).toEqual([ROOTS[count - 1], []])
      }
    }
  })
})
