//! A small random generator whose results are the same on every platform: only integer arithmetic and the basic
//! floating-point operations, which IEEE 754 defines exactly.

/// `SplitMix64`.
#[derive(Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x6A09_E667_F3BC_C908)
    }

    /// An independent generator for the part of the corpus that `key` names.
    pub fn derive(seed: u64, key: u64) -> Self {
        let mut mixer = Self::new(seed.wrapping_add(key.wrapping_mul(0xD134_2543_DE82_EF95)));
        Self(mixer.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`, and 0 where `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// A number in `low..high`, and `low` where the range is empty.
    pub fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low))
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub fn pick<'a, T: ?Sized>(&mut self, options: &[&'a T]) -> &'a T {
        options[self.below(options.len())]
    }

    /// The place of one of `weights`, each drawn in proportion to its value.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut drawn = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|&weight| {
                let here = drawn < weight;
                drawn = drawn.saturating_sub(weight);
                here
            })
            .unwrap_or(0)
    }

    /// A log-normal size: half of the draws lie below `median`; a greater `sigma` makes the tail longer.
    pub fn skewed(&mut self, median: f64, sigma: f64) -> usize {
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (median * exp(normal * sigma)) as usize
    }

    pub fn uuid(&mut self) -> u128 {
        let random = (u128::from(self.next()) << 64) | u128::from(self.next());
        random & !(0xF000 << 64) & !(0xC000 << 48) | (0x4000 << 64) | (0x8000 << 48)
    }

    /// An identifier such as the service gives out: `prefix`, a version and 22 letters and digits.
    pub fn service_id(&mut self, prefix: &str) -> String {
        const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        let mut id = String::with_capacity(prefix.len() + 24);
        id.push_str(prefix);
        id.push_str("01");
        for _ in 0..22 {
            id.push(char::from(ALPHABET[self.below(ALPHABET.len())]));
        }
        id
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// e to the power of `x`, close enough for |x| below 20, by (1 + x/n)^n.
fn exp(x: f64) -> f64 {
    let mut power = 1.0 + x / 65_536.0;
    for _ in 0..16 {
        power *= power;
    }
    power
}
