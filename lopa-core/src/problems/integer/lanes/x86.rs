//! The operations of x86 with vectors of 256 and 512 bits.

use core::arch::x86_64::{__m128i, __m256i, __m512i};

use bytemuck::cast;

use super::{Bytes, Integers, Lanes, PIECE, ROWS, Word};

pulp::simd_type! {
    /// What almost all processors with vectors of 512 bits have. A compiler that may use VNNI multiplies and adds in one
    /// operation.
    pub(super) struct Vnni {
        avx2: "avx2",
        bmi1: "bmi1",
        bmi2: "bmi2",
        fma: "fma",
        lzcnt: "lzcnt",
        popcnt: "popcnt",
        avx512f: "avx512f",
        avx512bw: "avx512bw",
        avx512cd: "avx512cd",
        avx512dq: "avx512dq",
        avx512vl: "avx512vl",
        avx512vnni: "avx512vnni",
    }
}

/// Two factors as the 16-bit halves of one number.
#[inline(always)]
const fn pair([f, g]: [Word; 2]) -> i32 {
    (f as u16 as u32 | (g as u16 as u32) << 16) as i32
}

impl Lanes for pulp::x86::V4 {
    /// One for each half of a piece, so that neither waits for the other.
    type Sums = [[i32; 16]; 2];

    /// Each vector has the sums of four features in a row, out of every sixteen.
    type Tile = [[i32; 16]; 4];

    type Turns = [[i16; 32]; 4];

    const ZERO: Self::Sums = [[0; 16]; 2];
    const EMPTY: Self::Tile = [[0; 16]; 4];
    const NO_TURNS: Self::Turns = [[0; 32]; 4];

    #[inline(always)]
    fn widen<const SIGNED: bool>(self, row: &Bytes) -> Integers {
        let bw = self.avx512bw;
        let halves: [__m256i; 2] = cast(*row);
        Integers(cast(if SIGNED {
            halves.map(|half| bw._mm512_cvtepi8_epi16(half))
        } else {
            halves.map(|half| bw._mm512_cvtepu8_epi16(half))
        }))
    }

    #[inline(always)]
    fn multiply(self, [a, b]: Self::Sums, row: &Integers, integers: &Integers) -> Self::Sums {
        let (bw, f) = (self.avx512bw, self.avx512f);
        let [low, high]: [__m512i; 2] = cast(row.0);
        let [first, second]: [__m512i; 2] = cast(integers.0);
        let a = f._mm512_add_epi32(cast(a), bw._mm512_madd_epi16(low, first));
        let b = f._mm512_add_epi32(cast(b), bw._mm512_madd_epi16(high, second));
        [cast(a), cast(b)]
    }

    #[inline(always)]
    fn totals(self, sums: [Self::Sums; ROWS]) -> [i64; ROWS] {
        let f = self.avx512f;
        let [a, b, c, d] = sums.map(|[low, high]| f._mm512_add_epi32(cast(low), cast(high)));
        // Two rows in turns, then all four: four lanes have the sums of a quarter, one for each row.
        let pair =
            |a, b| f._mm512_add_epi32(f._mm512_unpacklo_epi32(a, b), f._mm512_unpackhi_epi32(a, b));
        let (ab, cd) = (pair(a, b), pair(c, d));
        let (low, high) = (f._mm512_unpacklo_epi64(ab, cd), f._mm512_unpackhi_epi64(ab, cd));
        let [low, high]: [__m256i; 2] = cast(f._mm512_add_epi32(low, high));
        let (low, high) = (f._mm512_cvtepi32_epi64(low), f._mm512_cvtepi32_epi64(high));
        let [low, high]: [__m256i; 2] = cast(f._mm512_add_epi64(low, high));
        cast(self.avx2._mm256_add_epi64(low, high))
    }

    #[inline(always)]
    fn in_turns<const SIGNED: bool>(self, [a, b]: [&Bytes; 2]) -> Self::Turns {
        let bw = self.avx512bw;
        let (a, b): (__m512i, __m512i) = (cast(*a), cast(*b));
        // The bytes of both rows in turns, and then each of them as 16 bits: with a zero above it, or as the upper half of
        // what is shifted.
        let both = [bw._mm512_unpacklo_epi8(a, b), bw._mm512_unpackhi_epi8(a, b)];
        let mut turns = [[0; 32]; 4];
        for j in 0..4 {
            let both = both[j / 2];
            let above = if SIGNED { both } else { self.avx512f._mm512_setzero_si512() };
            let wide = if j % 2 == 0 {
                bw._mm512_unpacklo_epi8(both, above)
            } else {
                bw._mm512_unpackhi_epi8(both, above)
            };
            turns[j] = cast(if SIGNED { bw._mm512_srai_epi16::<8>(wide) } else { wide });
        }
        turns
    }

    #[inline(always)]
    fn add_rows(self, tile: Self::Tile, rows: Self::Turns, factors: [Word; 2]) -> Self::Tile {
        let factors = self.avx512f._mm512_set1_epi32(pair(factors));
        let mut next = Self::EMPTY;
        for j in 0..4 {
            let products = self.avx512bw._mm512_madd_epi16(cast(rows[j]), factors);
            next[j] = cast(self.avx512f._mm512_add_epi32(cast(tile[j]), products));
        }
        next
    }

    #[inline(always)]
    fn in_order(self, tile: Self::Tile) -> [i32; PIECE] {
        let f = self.avx512f;
        let [a, b, c, d]: [__m512i; 4] = cast(tile);
        let low = [f._mm512_shuffle_i32x4::<0x44>(a, b), f._mm512_shuffle_i32x4::<0x44>(c, d)];
        let high = [f._mm512_shuffle_i32x4::<0xee>(a, b), f._mm512_shuffle_i32x4::<0xee>(c, d)];
        cast([
            f._mm512_shuffle_i32x4::<0x88>(low[0], low[1]),
            f._mm512_shuffle_i32x4::<0xdd>(low[0], low[1]),
            f._mm512_shuffle_i32x4::<0x88>(high[0], high[1]),
            f._mm512_shuffle_i32x4::<0xdd>(high[0], high[1]),
        ])
    }
}

impl Lanes for pulp::x86::V3 {
    type Sums = [i32; 16];

    /// As above, for each half of a piece.
    type Tile = [[[i32; 8]; 4]; 2];

    type Turns = [[[i16; 16]; 4]; 2];

    const ZERO: Self::Sums = [0; 16];
    const EMPTY: Self::Tile = [[[0; 8]; 4]; 2];
    const NO_TURNS: Self::Turns = [[[0; 16]; 4]; 2];

    #[inline(always)]
    fn widen<const SIGNED: bool>(self, row: &Bytes) -> Integers {
        let quarters: [__m128i; 4] = cast(*row);
        Integers(cast(if SIGNED {
            quarters.map(|quarter| self.avx2._mm256_cvtepi8_epi16(quarter))
        } else {
            quarters.map(|quarter| self.avx2._mm256_cvtepu8_epi16(quarter))
        }))
    }

    #[inline(always)]
    fn multiply(self, sums: Self::Sums, row: &Integers, integers: &Integers) -> Self::Sums {
        let avx2 = self.avx2;
        let (row, integers): ([__m256i; 4], [__m256i; 4]) = (cast(row.0), cast(integers.0));
        let mut sums: [__m256i; 2] = cast(sums);
        for i in 0..4 {
            let products = avx2._mm256_madd_epi16(row[i], integers[i]);
            sums[i % 2] = avx2._mm256_add_epi32(sums[i % 2], products);
        }
        cast(sums)
    }

    #[inline(always)]
    fn totals(self, sums: [Self::Sums; ROWS]) -> [i64; ROWS] {
        sums.map(|sums| sums.into_iter().map(i64::from).sum())
    }

    #[inline(always)]
    fn in_turns<const SIGNED: bool>(self, [a, b]: [&Bytes; 2]) -> Self::Turns {
        let avx2 = self.avx2;
        let (a, b): ([__m256i; 2], [__m256i; 2]) = (cast(*a), cast(*b));
        let mut turns = [[[0; 16]; 4]; 2];
        for half in 0..2 {
            let (a, b) = (a[half], b[half]);
            let both = [avx2._mm256_unpacklo_epi8(a, b), avx2._mm256_unpackhi_epi8(a, b)];
            for j in 0..4 {
                let both = both[j / 2];
                let above = if SIGNED { both } else { self.avx._mm256_setzero_si256() };
                let wide = if j % 2 == 0 {
                    avx2._mm256_unpacklo_epi8(both, above)
                } else {
                    avx2._mm256_unpackhi_epi8(both, above)
                };
                turns[half][j] =
                    cast(if SIGNED { avx2._mm256_srai_epi16::<8>(wide) } else { wide });
            }
        }
        turns
    }

    #[inline(always)]
    fn add_rows(self, tile: Self::Tile, rows: Self::Turns, factors: [Word; 2]) -> Self::Tile {
        let avx2 = self.avx2;
        let factors = self.avx._mm256_set1_epi32(pair(factors));
        let mut next = Self::EMPTY;
        for half in 0..2 {
            for j in 0..4 {
                let products = avx2._mm256_madd_epi16(cast(rows[half][j]), factors);
                next[half][j] = cast(avx2._mm256_add_epi32(cast(tile[half][j]), products));
            }
        }
        next
    }

    #[inline(always)]
    fn in_order(self, tile: Self::Tile) -> [i32; PIECE] {
        let avx2 = self.avx2;
        let mut sums = [[0_i32; PIECE / 2]; 2];
        for half in 0..2 {
            let [a, b, c, d]: [__m256i; 4] = cast(tile[half]);
            sums[half] = cast([
                avx2._mm256_permute2x128_si256::<0x20>(a, b),
                avx2._mm256_permute2x128_si256::<0x20>(c, d),
                avx2._mm256_permute2x128_si256::<0x31>(a, b),
                avx2._mm256_permute2x128_si256::<0x31>(c, d),
            ]);
        }
        cast(sums)
    }
}
