// Operations are those of the module AsyncOperation: programs that use both modules have one class
// of that name, and programs that import this one alone have it, too.
@_exported import AsyncOperation
