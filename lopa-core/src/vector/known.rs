//! What is computed from a vector once, and used until the vector may have changed.

use core::sync::atomic::{AtomicU64, Ordering};

/// Stands for a time in which vectors do not change. No two times have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// The last ticket, of all threads.
static LAST: AtomicU64 = AtomicU64::new(0);

impl Ticket {
    /// For a time that begins now.
    pub(crate) fn issue() -> Self {
        Self(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// Keeps it in a workspace; nothing can be kept in one that is too short.
    pub(crate) fn keep(self, workspace: &mut [f32]) {
        if let Some(place) = workspace.last_chunk_mut() {
            *place = [self.0 as u32, (self.0 >> 32) as u32].map(f32::from_bits);
        }
    }

    /// The one that was kept; a new one if there is none.
    pub(crate) fn kept(workspace: &[f32]) -> Self {
        let kept = workspace.last_chunk().map(|place| {
            let [low, high] = place.map(f32::to_bits);
            u64::from(low) | u64::from(high) << 32
        });
        kept.filter(|&ticket| ticket != 0).map_or_else(Self::issue, Self)
    }
}

/// A vector from which something was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    at: usize,
    len: usize,
    ticket: u64,
}

impl Known {
    /// No vector.
    pub(crate) const NOTHING: Self = Self { at: 0, len: 0, ticket: 0 };

    /// The vector that is there at that time.
    pub(crate) fn of(vector: &[f32], Ticket(ticket): Ticket) -> Self {
        Self { at: vector.as_ptr() as usize, len: vector.len(), ticket }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_kept_where_there_is_room() {
        let mut workspace = [0.0; 5];
        let unknown = [Ticket::kept(&workspace), Ticket::kept(&workspace)];
        assert_ne!(unknown[0], unknown[1]);
        let tickets = [Ticket(1), Ticket(u64::MAX), Ticket(0x7fc0_0001_ff80_0000)];
        for ticket in tickets {
            ticket.keep(&mut workspace);
            assert_eq!(Ticket::kept(&workspace), ticket);
        }
        assert_eq!(workspace[..3], [0.0; 3]);
        tickets[0].keep(&mut workspace[..1]);
        assert_ne!(Ticket::kept(&workspace[..1]), tickets[0]);
    }

    #[test]
    fn a_vector_is_known_where_it_is_and_for_as_long() {
        let vectors = [1.0, 2.0, 3.0];
        let ticket = Ticket::issue();
        let known = Known::of(&vectors, ticket);
        assert_eq!(known, Known::of(&vectors, ticket));
        for other in [&vectors[1..], &vectors[..2], &[]] {
            assert_ne!(known, Known::of(other, ticket));
        }
        assert_ne!(known, Known::of(&vectors, Ticket::issue()));
        assert_ne!(known, Known::NOTHING);
    }
}
