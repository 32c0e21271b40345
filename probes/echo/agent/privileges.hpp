// What an agent gives up once its transport is open.
#pragma once

namespace plink {

// Becomes an ordinary process for good: as root the user nobody, or, where that user does not exist
// (in most user namespaces), a root without a single capability. No program that it might start
// gains anything, it can start none, and nobody but root reads its memory, which holds the run's
// secret. Complains and returns false where the system refuses.
//
// Capabilities belong to threads: all that run at this moment give theirs up.
bool drop_privileges();

}  // namespace plink
